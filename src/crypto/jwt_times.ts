// The times of JWTs from outside (RFC 7519 §4.1): one rule for all kinds of assertions.
import { DAY } from '../lib/time.ts'

/** Tolerance in seconds for clock differences. DPoP proofs have one that operators set (`dpop.clock_skew`), because clients on devices make them. */
export const CLOCK_SKEW = {
  /** Servers and clients make assertions for one request, and have synchronised clocks. */
  assertion: 30,
  /** ID tokens and logout tokens: a provider with a slow clock would lock all its users out. */
  sign_in: 60,
} as const

/** Maximum remaining lifetime of a token of another server. A later exp is in milliseconds, or wrong. */
export const MAX_LIFE = 365 * DAY

/** Whether a claim is a NumericDate. JSON.parse reads 1e999 as Infinity. */
export const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

export interface TimeRules {
  now: number
  /** Seconds that the token may have expired ago. Default: the tolerance of assertions, which all other times have. */
  expiredFor?: number
  /** Maximum remaining lifetime in seconds. */
  life: number
  /** Maximum age in seconds. Then `iat` is required. */
  maxAge?: number
}
export type TimeFault =
  | { claim: 'exp'; fault: 'missing' | 'no_time' | 'expired' | 'far' }
  | { claim: 'iat' | 'nbf'; fault: 'no_time' | 'future' | 'old' }

/** The first wrong time of a token; undefined when all are right. `exp` is required. */
export function timeFaultOf(
  claims: Readonly<Record<string, unknown>>,
  { now, expiredFor = CLOCK_SKEW.assertion, life, maxAge }: TimeRules,
): TimeFault | undefined {
  const { exp, iat, nbf } = claims
  if (!isTime(exp)) return { claim: 'exp', fault: exp === undefined ? 'missing' : 'no_time' }
  if (exp <= now - expiredFor) return { claim: 'exp', fault: 'expired' }
  if (exp > now + life + CLOCK_SKEW.assertion) return { claim: 'exp', fault: 'far' }
  const fault = laterThan(now, iat, maxAge !== undefined)
  if (fault) return { claim: 'iat', fault }
  if (maxAge !== undefined && Number(iat) + maxAge < now) return { claim: 'iat', fault: 'old' }
  const early = laterThan(now, nbf, false)
  return early && { claim: 'nbf', fault: early }
}

/** What is wrong with a time that must not be in the future. */
function laterThan(now: number, time: unknown, isRequired: boolean): 'no_time' | 'future' | undefined {
  if (time === undefined && !isRequired) return undefined
  if (!isTime(time)) return 'no_time'
  return time > now + CLOCK_SKEW.assertion ? 'future' : undefined
}
