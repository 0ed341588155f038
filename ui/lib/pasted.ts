// What a pasted text is. Tokens are decoded here, in the browser: they belong in no address and in no log.

/** What was pasted: a signed token, a secret that only the server can look up, or words to search for. */
export type Pasted =
  | { kind: 'token'; header: Record<string, unknown>; claims: Record<string, unknown>; jti?: string }
  | { kind: 'secret'; what: string; value: string }
  | { kind: 'text'; text: string }

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** The values that this service makes with a secret in them: a prefix, and 32 or 48 bytes. */
const SECRET = /^([a-z]{2,4})_[\w-]{43,64}$/
const SECRETS: Readonly<Record<string, string>> = {
  rt: 'a refresh token',
  sak: 'a key of the admin API',
  cs: 'the secret of a client',
  ac: 'an authorization code',
  dc: 'a device code',
}

/** Reads a pasted text. `Bearer` before a token is left out. */
export function readPasted(pasted: string): Pasted {
  const text = pasted.trim().replace(/^(authorization:\s*)?(bearer|dpop)\s+/i, '')
  if (JWT.test(text)) {
    const [header, claims] = text.split('.').map(decoded)
    if (header && claims)
      return { kind: 'token', header, claims, ...(typeof claims['jti'] === 'string' ? { jti: claims['jti'] } : {}) }
  }
  const [, prefix = ''] = SECRET.exec(text) ?? []
  // A long text without spaces that names nothing may be a token of another service: it does not go into an address either.
  const isLong = text.length > 60 && !/[\s:@/]/.test(text)
  if (prefix || isLong) return { kind: 'secret', what: SECRETS[prefix] ?? 'an opaque value', value: text }
  return { kind: 'text', text }
}

function decoded(part: string): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
