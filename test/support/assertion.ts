// Makes client assertions (RFC 7523) with an independent library, for clients that have keys of their own.

import { newId } from '../../src/lib/id.ts'
import type { Client } from '../../src/records/client.ts'
import type { Jwk } from '../../src/records/jwk.ts'
import type { Changes } from './dpop.ts'
import { type Answer, post } from './flow.ts'
import { type IdpKey, idpKey, signed } from './idp.ts'
import { addClient, type TestService } from './service.ts'

export const JWT_BEARER_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export type KeyedClient = Client & { key: IdpKey }

/** The public keys, in the form that a client publishes. */
export const keySetOf = (...keys: readonly IdpKey[]) => ({
  keys: keys.map(({ jwk, kid, alg }): Jwk => ({ ...(jwk as Jwk), ...(kid ? { kid } : {}), alg, use: 'sig' })),
})

/** A machine client with a key; `record` has further members. */
export async function addKeyedClient(
  service: Pick<TestService, 'app'>,
  { alg, ...record }: Partial<Client> & { alg?: string } = {},
): Promise<KeyedClient> {
  const key = await idpKey(alg)
  const keys = record.jwks_uri === undefined ? { jwks: keySetOf(key) } : {}
  const method = { token_endpoint_auth_method: 'private_key_jwt', secrets: undefined } as const
  return { ...(await addClient(service, {}, { ...method, ...keys, ...record })), key }
}

/** Header and claims of a valid assertion, with changes. */
export const assertionParts = (
  { app }: Pick<TestService, 'app'>,
  { client_id }: Pick<Client, 'client_id'>,
  { header, claims }: Changes = {},
  key?: IdpKey,
) => {
  const now = app.clock.now()
  return {
    header: { ...(key?.kid ? { kid: key.kid } : {}), ...header },
    claims: {
      ...{ iss: client_id, sub: client_id, aud: app.config.server.issuer, jti: newId(), iat: now, exp: now + 60 },
      ...claims,
    },
  }
}

/** The form fields that authenticate a client, with changes of the assertion. */
export async function proving(
  service: Pick<TestService, 'app'>,
  client: KeyedClient,
  changes: Changes = {},
  key = client.key,
): Promise<{ client_assertion: string; client_assertion_type: string }> {
  const { header, claims } = assertionParts(service, client, changes, key)
  return { client_assertion: await signed(key, header, claims), client_assertion_type: JWT_BEARER_TYPE }
}

/** Requests a token of a client with an assertion, with changes of it. */
export const tryAssertion = async (
  service: TestService,
  client: KeyedClient,
  changes: Changes = {},
  key?: IdpKey,
): Promise<Answer> => askWith(service, await proving(service, client, changes, key))

/** Requests a machine token with these fields only. */
export const askWith = (service: TestService, fields: Record<string, string>): Promise<Answer> =>
  post(`${service.issuer}/oauth/token`, undefined, { grant_type: 'client_credentials', ...fields })
