// Protocol `service_account`: a service account at the provider requests tokens for the user, with a JWT assertion (RFC 7523).
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { serviceAccountConfig } from '../config/provider_record.ts'
import { digest, newId } from '../lib/id.ts'
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
    const header = Buffer.from(JSON.stringify({ typ: 'JWT', alg: algorithm })).toString('base64url')
    const signing = { kid: `service account ${digest(pem)}`, alg: algorithm, key: privateKey(pem, algorithm), header }
    const assertion = await app.crypto.sign(signing, claims)
    const request = { url: token_url, form: { grant_type: JWT_BEARER, assertion } }
    const { token } = await requestUpstreamToken(app, provider, request, wanted)
    if (!wanted.every((name) => token.scope.includes(name))) return { credential }
    const own = { ...token, scope: [...wanted] }
    return { credential: withToken(credential, own, now), token: own }
  },

  initialCredential(provider, user) {
    const { impersonate } = configOf(provider, serviceAccountConfig)
    if (impersonate === 'account') return { tokens: [] }
    // The email of a federated user comes from another identity provider and is not trusted here.
    const isTrusted = impersonate === 'email' && user.provider === 'local' && user.email !== undefined
    return isTrusted ? { impersonate_sub: user.email, tokens: [] } : undefined
  },
} satisfies Protocol

function privateKey(pem: string, alg: Alg): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === (alg === 'ES256' ? 'ec' : 'rsa')) return key
  } catch {}
  throw misconfigured(
    'secret_unusable',
    new Error(`the key of the service account is not a PEM private key for ${alg}`),
  )
}
