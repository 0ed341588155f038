// Makes a client assertion (private_key_jwt, RFC 7523 §2.2) in the browser. The private key does not leave the page.
import { type CryptoKey, exportJWK, importJWK, importPKCS8, type JWK, SignJWT } from 'jose'

/** The algorithms of clients, one for each kind of key, in the order in which a key is tried. */
const ALGS = ['ES256', 'RS256', 'EdDSA'] as const
const LIFETIME = 300
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** An assertion, and what the client must be registered with. */
export interface MadeAssertion {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  jwks: { keys: object[] }
  /** The parameters of a token request. */
  form: Record<string, string>
}

/** Makes an assertion of a client from its private key, as PEM (PKCS #8) or JWK. Throws an Error in words for people. */
export async function makeAssertion(text: string, client_id: string, issuer: string): Promise<MadeAssertion> {
  // Browsers have no subtle on pages over plain http from another machine.
  if (!globalThis.crypto?.subtle)
    throw new Error('this browser signs only over https or on localhost: use service try assertion')
  const { key, alg, kid } = await importPrivateKey(text)
  const iat = Math.floor(Date.now() / 1000)
  const header = { alg, ...(kid ? { kid } : {}), typ: 'JWT' }
  const claims = { iss: client_id, sub: client_id, aud: issuer, iat, exp: iat + LIFETIME, jti: crypto.randomUUID() }
  const client_assertion = await new SignJWT(claims).setProtectedHeader(header).sign(key)
  return {
    header,
    claims,
    jwks: { keys: [{ ...(await publicMembers(key)), ...(kid ? { kid } : {}), alg, use: 'sig' }] },
    form: { grant_type: 'client_credentials', client_assertion_type: TYPE, client_assertion },
  }
}

async function importPrivateKey(text: string): Promise<{ key: CryptoKey; alg: string; kid?: string }> {
  const jwk = jwkOf(text)
  for (const alg of ALGS) {
    // A key of another kind is refused.
    const key = await (jwk ? importMembers(jwk, alg) : importPKCS8(text.trim(), alg, { extractable: true })).catch(
      () => undefined,
    )
    if (key && isLongEnough(key)) return { key, alg, kid: typeof jwk?.kid === 'string' ? jwk.kid : undefined }
  }
  throw new Error(
    'the key must be a private key as PEM (PKCS #8, BEGIN PRIVATE KEY) or JWK: EC of P-256, RSA of at least 2048 bits, or Ed25519',
  )
}

/** A key from its members. The others, such as alg and key_ops, may contradict the algorithm that is tried. */
async function importMembers({ kty, crv, x, y, n, e, d, p, q, dp, dq, qi }: JWK, alg: string): Promise<CryptoKey> {
  const members = { kty, crv, x, y, n, e, d, p, q, dp, dq, qi } as JWK
  if (d === undefined) throw new Error('a public key')
  return (await importJWK(members, alg, { extractable: true })) as CryptoKey
}

const MIN_RSA_BITS = 2048
const isLongEnough = ({ algorithm }: CryptoKey): boolean =>
  !('modulusLength' in algorithm) || Number(algorithm.modulusLength) >= MIN_RSA_BITS

function jwkOf(text: string): JWK | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const publicMembers = async (key: CryptoKey): Promise<object> => {
  const { kty, crv, x, y, n, e } = await exportJWK(key)
  return { kty, crv, x, y, n, e }
}
