// What can go wrong with the secret store, for callers of tokens and for operators.
import { OAuthError, unavailable } from '../lib/error.ts'

/** The server answered, and will not do it: a policy, a missing key, a malformed input. Holds what it said, never what was sent. */
export class TransitRefusal extends Error {
  readonly status: number

  constructor(status: number, path: string, errors: string) {
    super(`${path}: ${status}${errors ? ` (${errors})` : ''}`)
    this.status = status
  }
}

const AWAY = 'transit_away'

/** What callers are told while the secret store cannot be used: 503 with Retry-After. The cause is for the log. */
export const away = (cause: unknown): OAuthError =>
  cause instanceof OAuthError ? cause : unavailable('the secret store is away', { reason: AWAY, cause })

/** Whether the server did not answer, or called it its own fault. */
export const isAway = (error: unknown): boolean => error instanceof OAuthError && error.reason === AWAY

/** An error of a start, in words for the operator: which setting, which address, what happened. */
export function bootError(setting: string, address: string, error: unknown): Error {
  const cause = error instanceof OAuthError && error.cause instanceof Error ? error.cause : (error as Error)
  return new Error(`${setting}: ${new URL(address).host}: ${cause.message}`, { cause: error })
}
