// Protocol `service_account`: a service account at the provider requests tokens for the user, with a JWT assertion (RFC 7523).
import { createPrivateKey } from 'node:crypto'
import { type JWTPayload, SignJWT } from 'jose'
import { serviceAccountConfig } from '../config/provider_record.ts'
import { newId } from '../lib/id.ts'
import type { Alg } from '../records/jwk.ts'
import { hasScopes, isUsable, withToken } from './credential.ts'
import type { Protocol } from './protocol.ts'
import { configOf, misconfigured } from './provider.ts'
import { secretOf } from './secret.ts'
import { requestUpstreamToken } from './upstream.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

export const serviceAccount = {
  name: 'service_account',
  connects: 'operator',
  scoped: false,

  storedToken: ({ tokens }, wanted, now) => tokens.find((each) => isUsable(each, now) && hasScopes(each, wanted)),

  async renew(app, provider, credential, wanted) {
    const { token_url, sa_email, sa_key_ref, algorithm, token_ttl_seconds } = configOf(provider, serviceAccountConfig)
    const pem = secretOf(app, sa_key_ref)
    const now = app.clock.now()
    const scope = wanted.join(' ')
    const claims = {
      iss: sa_email,
      sub: credential.impersonate_sub ?? sa_email,
      aud: token_url,
      jti: newId(),
      iat: now,
      exp: now + token_ttl_seconds,
      ...(scope ? { scope } : {}),
    }
    const assertion = await signed(pem, algorithm, claims)
    const request = { url: token_url, form: { grant_type: JWT_BEARER, assertion } }
    const { token } = await requestUpstreamToken(app, provider, request, wanted)
    if (!wanted.every((name) => token.scope.includes(name))) return { credential }
    const own = { ...token, scope: [...wanted] }
    return { credential: withToken(credential, own, now), token: own }
  },

  // An email is no proof of an identity at the provider: operators write it. So only an admin connects a user who is impersonated.
  initialCredential: (provider) =>
    configOf(provider, serviceAccountConfig).impersonate === 'account' ? { tokens: [] } : undefined,
} satisfies Protocol

/** Signs an assertion. The key is read for each one, so that a new key counts at once and no key is kept. Throws server_error when it does not fit the algorithm. */
async function signed(pem: string, alg: Alg, claims: JWTPayload): Promise<string> {
  try {
    return await new SignJWT(claims).setProtectedHeader({ typ: 'JWT', alg }).sign(createPrivateKey(pem))
  } catch {
    throw misconfigured(
      'secret_unusable',
      new Error(`the key of the service account is not a PEM private key for ${alg}`),
    )
  }
}
