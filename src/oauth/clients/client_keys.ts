// The public keys that a client registers (RFC 7591 §2: jwks, jwks_uri), read strictly: each mistake has a message of its own.
import { z } from 'zod'
import { CLIENT_ALGS, importKey } from '../../crypto/jws.ts'
import { quoteNames } from '../../lib/bounded.ts'
import { endpoint, listOf } from '../../lib/field.ts'
import type { JwkSet } from '../../records/client.ts'
import { ED25519, type Jwk, KEY_KINDS, PRIVATE_MEMBERS } from '../../records/jwk.ts'

/** Maximum number of keys of a client. */
export const MAX_KEYS = 20
const MAX_KID = 255
const MIN_RSA_BYTES = 256
/** The members that are stored. Certificates and all others are omitted. */
const MEMBERS = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'alg', 'use', 'key_ops'] as const

/** What is wrong with a key, or undefined. */
function faultOf(key: Readonly<Record<string, unknown>>): string | undefined {
  const { kty, crv, kid, alg, n } = key
  if (kty === 'oct' || 'k' in key) return 'is a symmetric key'
  if (PRIVATE_MEMBERS.some((name) => name in key)) return 'contains a private key; it is no longer secret'
  const algs = CLIENT_ALGS.filter((each) => KEY_KINDS[each].kty === kty && KEY_KINDS[each].crv === crv)
  if (algs.length === 0) return 'must be an RSA key, an EC key of the curve P-256, or an OKP key of the curve Ed25519'
  const isFitting = algs.some((each) => each === alg) || (alg === ED25519 && crv === ED25519)
  if (alg !== undefined && !isFitting) return `alg must be ${algs.join(' or ')}`
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID))
    return `kid must be a text of at most ${MAX_KID} characters`
  if (kty === 'RSA' && typeof n === 'string' && Buffer.byteLength(n, 'base64url') < MIN_RSA_BYTES)
    return 'is an RSA key of fewer than 2048 bits'
  return algs.every((each) => importKey(each, key as Jwk)) ? undefined : 'is not a valid public key'
}

/** Whether a key is for signatures. Keys for encryption are left out (RFC 7517 §4.2, §4.3). */
const isForSignatures = ({ use, key_ops }: Readonly<Record<string, unknown>>): boolean =>
  (use === undefined || use === 'sig') &&
  (key_ops === undefined || (Array.isArray(key_ops) && key_ops.includes('verify')))

const stored = (key: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(MEMBERS.flatMap((name) => (key[name] === undefined ? [] : [[name, key[name]]]))) as Jwk

const keys = listOf(z.record(z.string(), z.unknown()), { max: MAX_KEYS, filled: true }).transform(
  (given, context): Jwk[] => {
    const used = given.filter(isForSignatures)
    for (const [i, key] of given.entries()) {
      const fault = isForSignatures(key) ? faultOf(key) : undefined
      if (fault) context.addIssue({ code: 'custom', path: [i], message: fault })
    }
    const kids = used.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : []))
    const twice = kids.filter((kid, i) => kids.indexOf(kid) !== i)
    if (twice.length > 0) context.addIssue(`have the same kid twice: ${quoteNames(twice)}`)
    if (used.length === 0) context.addIssue('must have a key for signatures')
    return used.map(stored)
  },
)

/** The fields of a client that say which keys verify its assertions. */
export const keyFields = {
  jwks: z
    .object({ keys }, 'must be a JWK set: an object with a list of keys')
    .describe(`Public keys that verify its assertions, as a JWK set: at most ${MAX_KEYS}.`),
  jwks_uri: endpoint().describe('URL where the client publishes its public keys.'),
} as const

interface Keyed {
  token_endpoint_auth_method: string
  jwks?: JwkSet
  jwks_uri?: string
}
/** What is wrong with the keys of a client as a whole. Each key is checked separately. */
export function keysFault(client: Keyed, allowHttp: boolean): { path: string; message: string } | undefined {
  const { jwks, jwks_uri, token_endpoint_auth_method: method } = client
  if (jwks && jwks_uri !== undefined) return { path: 'jwks', message: 'and jwks_uri exclude each other' }
  const given = jwks ? 'jwks' : jwks_uri === undefined ? undefined : 'jwks_uri'
  if (method !== 'private_key_jwt') return given && { path: given, message: 'is for private_key_jwt only' }
  if (!given) return { path: 'jwks', message: 'or jwks_uri is required for private_key_jwt' }
  if (jwks_uri !== undefined && !allowHttp && !/^https:/i.test(jwks_uri))
    return { path: 'jwks_uri', message: 'must use https' }
  return undefined
}
