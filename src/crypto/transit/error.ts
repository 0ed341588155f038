// Errors of the secret store, for clients and for operators.
import { OAuthError, unavailable } from '../../lib/error.ts'

/** The server refused the call: a policy, a missing key, a malformed input. Contains the errors of the server, never the request. */
export class TransitRefusal extends Error {
  readonly status: number

  constructor(status: number, path: string, errors: string) {
    super(`${path}: ${status}${errors ? ` (${errors})` : ''}`)
    this.status = status
  }
}

const UNAVAILABLE = 'transit_away'

/** The error for clients while the secret store is unavailable: 503 with Retry-After. The cause is for the log. */
export const storeUnavailable = (cause: unknown): OAuthError =>
  cause instanceof OAuthError ? cause : unavailable('the secret store is unavailable', { reason: UNAVAILABLE, cause })

/** Whether the server did not answer, or reported an error of its own. */
export const isUnavailable = (error: unknown): boolean => error instanceof OAuthError && error.reason === UNAVAILABLE

/** A startup error for operators: it names the setting, the address and the cause. */
export function bootError(setting: string, address: string, error: unknown): Error {
  const cause = error instanceof OAuthError && error.cause instanceof Error ? error.cause : (error as Error)
  return new Error(`${setting}: ${new URL(address).host}: ${cause.message}`, { cause: error })
}
