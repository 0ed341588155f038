// Logout tokens of an upstream OpenID provider (OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6).
import type { LogoutToken } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { DAY } from '../lib/time.ts'
import { isSubject, type SignedParts, SKEW, verifySigned } from './id_token.ts'

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
  return verifySigned(parts, text, expected.jwks_uri, invalid, ({ header, payload }) => {
    const typ = header['typ']
    if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) throw invalid('typ')
    return readClaims(payload, expected, parts.clock.now())
  })
}

function readClaims(
  { iss, aud, iat, exp, jti, events, nonce, sub, sid }: Readonly<Record<string, unknown>>,
  expected: { issuer: string; client_id: string },
  now: number,
): LogoutToken {
  const isTime = (value: unknown): value is number => typeof value === 'number'
  if (iss !== expected.issuer) throw invalid('iss')
  if (!(Array.isArray(aud) ? aud : [aud]).includes(expected.client_id)) throw invalid('aud')
  if (!isTime(iat) || iat > now + SKEW || iat < now - DAY) throw invalid('iat')
  if (!isTime(exp) || exp <= now - SKEW) throw invalid('exp')
  if (!isEvent(events)) throw invalid('events')
  // An ID token has a nonce, a logout token must not: neither can be used as the other.
  if (nonce !== undefined) throw invalid('nonce')
  if (!isText(jti)) throw invalid('jti')
  if (sub !== undefined && !isSubject(expected.issuer, sub)) throw invalid('sub')
  if (sid !== undefined && !isText(sid)) throw invalid('sid')
  if (sub === undefined && sid === undefined) throw invalid('no_subject')
  return { sub, sid, jti, valid_until: Math.ceil(Math.min(exp, iat + DAY)) + SKEW }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID && !/\p{C}/u.test(value)

function isEvent(events: unknown): boolean {
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, EVENT)) return false
  const event: unknown = (events as Record<string, unknown>)[EVENT]
  return typeof event === 'object' && event !== null && !Array.isArray(event)
}
