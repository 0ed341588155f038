// Logout tokens of an upstream OpenID provider (OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6).
import type { LogoutToken } from '../../context.ts'
import { verifyForeignJwt } from '../../crypto/foreign_jwt.ts'
import { CLOCK_SKEW } from '../../crypto/jwt_times.ts'
import { OAuthError } from '../../lib/error.ts'
import { DAY } from '../../lib/time.ts'
import { isSubject, type SignedParts, trustOf } from './id_token.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Types that a logout token may have. Most providers send none, or JWT. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'logout+jwt', 'application/logout+jwt']
const MAX_ID = 255

const invalid = (reason: string): OAuthError =>
  new OAuthError('invalid_request', 'the logout token is not valid', { reason: `logout_${reason}` })

/** Verifies a logout token. Throws invalid_request, or a FetchError when the keys are not available. It does not check whether the token was used before. */
export async function verifyLogoutToken(
  parts: SignedParts,
  text: string,
  expected: { issuer: string; client_id: string; jwks_uri: string },
): Promise<LogoutToken> {
  const { typ, claims } = await verifyForeignJwt(text, { ...trustOf(parts, expected, invalid), maxTokenAge: DAY })
  if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) throw invalid('typ')
  const { iat = 0, exp = 0, jti, events, nonce, sub, sid } = claims
  if (!isEvent(events)) throw invalid('events')
  // An ID token has a nonce, a logout token must not: neither can be used as the other.
  if (nonce !== undefined) throw invalid('nonce')
  if (!isText(jti)) throw invalid('jti')
  if (sub !== undefined && !isSubject(expected.issuer, sub)) throw invalid('sub')
  if (sid !== undefined && !isText(sid)) throw invalid('sid')
  if (sub === undefined && sid === undefined) throw invalid('no_subject')
  return { sub, sid, jti, valid_until: Math.ceil(Math.min(exp, iat + DAY)) + CLOCK_SKEW.sign_in }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID && !/\p{C}/u.test(value)

function isEvent(events: unknown): boolean {
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, EVENT)) return false
  const event: unknown = (events as Record<string, unknown>)[EVENT]
  return typeof event === 'object' && event !== null && !Array.isArray(event)
}
