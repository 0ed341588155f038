// Tokens of an identity provider that are used as subject tokens.
import type { TestIdp } from './idp.ts'
import { type IdpKey, signed } from './idp.ts'
import type { TestService } from './service.ts'

export const JWT = 'urn:ietf:params:oauth:token-type:jwt'
export const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'

/** An API and a client at the provider: the audiences of its access tokens and its ID tokens. */
export const FOREIGN = { api: 'api://notes', client: 'desk-app' } as const
/** The members of a provider whose tokens are accepted. */
export const trusting = { subject_tokens: true, audiences: [FOREIGN.api, FOREIGN.client] }

export interface Minted {
  header?: Record<string, unknown>
  claims?: Record<string, unknown>
  key?: IdpKey
}
/** An access token of a provider, with changes; undefined leaves a member out. */
export function aToken({ app }: TestService, idp: TestIdp, { header, claims, key = idp.key }: Minted = {}) {
  const now = app.clock.now()
  return signed(
    key,
    { typ: 'at+jwt', alg: key.alg, ...(key.kid ? { kid: key.kid } : {}), ...header },
    {
      ...{ iss: idp.issuer, sub: 'employee-1', aud: FOREIGN.api, client_id: FOREIGN.client, iat: now, exp: now + 300 },
      ...claims,
    },
  )
}
