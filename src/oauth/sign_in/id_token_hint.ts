// ID tokens of this service that clients send back as `id_token_hint`: they name a user, but they are not a credential.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { decodeJws } from '../../crypto/jws.ts'

/** ID tokens can contain many groups, but a longer query would not get through most proxies. */
const MAX_HINT = 16_384

/** The user that an ID token is about, and the client that it was issued to. */
export interface IdTokenHint {
  sub: string
  client_id: string
}

/** Verifies an ID token of this service. It may have expired (OpenID Connect Core §3.1.2.1). Undefined for every other text. */
export async function verifyIdTokenHint(app: App, text: string): Promise<IdTokenHint | undefined> {
  const jws = decodeJws(text, MAX_HINT)
  const { typ, alg, kid } = jws?.header ?? {}
  const { iss, sub, aud: client_id, jti } = jws?.payload ?? {}
  if (!jws || typ !== 'JWT' || typeof kid !== 'string' || iss !== issuerOf(app.config)) return undefined
  // Access tokens may have the same typ. They have a jti, and a list of audiences.
  if (typeof sub !== 'string' || typeof client_id !== 'string' || jti !== undefined) return undefined
  const key = app.keyring.find(kid) ?? (await app.keyring.seek(kid))
  if (!key || key.alg !== alg) return undefined
  const { jwk, thumbprint } = key
  const { input, signature } = jws
  const isAuthentic = await app.crypto.verify({ alg: key.alg, jwk, thumbprint, input, signature })
  return isAuthentic ? { sub, client_id } : undefined
}
