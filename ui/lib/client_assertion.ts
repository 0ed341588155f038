// Makes a client assertion (private_key_jwt, RFC 7523 §2.2) in the browser. The private key does not leave the page.

interface Kind {
  alg: string
  import: EcKeyImportParams | RsaHashedImportParams | Algorithm
  sign: EcdsaParams | RsaPssParams | Algorithm
}
/** The kinds of keys, in the order in which a key is tried. The algorithms of a kind are those that clients may have. */
const KINDS: readonly Kind[] = [
  {
    alg: 'ES256',
    import: { name: 'ECDSA', namedCurve: 'P-256' },
    sign: { name: 'ECDSA', hash: 'SHA-256' },
  },
  {
    alg: 'RS256',
    import: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    sign: { name: 'RSASSA-PKCS1-v1_5' },
  },
  { alg: 'EdDSA', import: { name: 'Ed25519' }, sign: { name: 'Ed25519' } },
]
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
  const { key, kind, kid } = await importPrivateKey(text)
  const iat = Math.floor(Date.now() / 1000)
  const header = { alg: kind.alg, ...(kid ? { kid } : {}), typ: 'JWT' }
  const claims = { iss: client_id, sub: client_id, aud: issuer, iat, exp: iat + LIFETIME, jti: crypto.randomUUID() }
  const input = `${encoded(JSON.stringify(header))}.${encoded(JSON.stringify(claims))}`
  const signature = await crypto.subtle.sign(kind.sign, key, new TextEncoder().encode(input))
  const client_assertion = `${input}.${base64url(new Uint8Array(signature))}`
  return {
    header,
    claims,
    jwks: { keys: [{ ...(await publicMembers(key)), ...(kid ? { kid } : {}), alg: kind.alg, use: 'sig' }] },
    form: { grant_type: 'client_credentials', client_assertion_type: TYPE, client_assertion },
  }
}

async function importPrivateKey(text: string): Promise<{ key: CryptoKey; kind: Kind; kid?: string }> {
  const jwk = jwkOf(text)
  for (const kind of KINDS) {
    // A key of another kind is refused by the browser.
    const key = await importAs(kind, jwk ?? text).catch(() => undefined)
    if (key && isLongEnough(key)) return { key, kind, kid: typeof jwk?.['kid'] === 'string' ? jwk['kid'] : undefined }
  }
  throw new Error(
    'the key must be a private key as PEM (PKCS #8, BEGIN PRIVATE KEY) or JWK: EC of P-256, RSA of at least 2048 bits, or Ed25519',
  )
}

function importAs(kind: Kind, source: string | Record<string, unknown>): Promise<CryptoKey> {
  if (typeof source === 'string')
    return crypto.subtle.importKey('pkcs8', bytesOfPem(source), kind.import, true, ['sign'])
  const { kty, crv, x, y, n, e, d, p, q, dp, dq, qi } = source as JsonWebKey
  return crypto.subtle.importKey('jwk', { kty, crv, x, y, n, e, d, p, q, dp, dq, qi }, kind.import, true, ['sign'])
}

const MIN_RSA_BITS = 2048
const isLongEnough = ({ algorithm }: CryptoKey): boolean =>
  !('modulusLength' in algorithm) || Number(algorithm.modulusLength) >= MIN_RSA_BITS

function jwkOf(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const bytesOfPem = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    atob(text.replace(/-----(BEGIN|END) PRIVATE KEY-----/g, '').replace(/\s/g, '')),
    (each) => each.codePointAt(0) ?? 0,
  )

const publicMembers = async (key: CryptoKey): Promise<object> => {
  const { kty, crv, x, y, n, e } = await crypto.subtle.exportKey('jwk', key)
  return { kty, crv, x, y, n, e }
}

const encoded = (text: string) => base64url(new TextEncoder().encode(text))
const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
