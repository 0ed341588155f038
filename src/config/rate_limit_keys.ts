// Keys of the limits on requests, logins and clients.
import { boolKey, durationKey, floatKey, intKey } from './key.ts'

/** The default limit on all requests per second. It is low, because it holds before the machine was measured. */
export const DEFAULT_REQUEST_RATE = 100

export const rateLimitKeys = {
  enabled: boolKey({ default: true }).describe(
    'Limit requests to the public listener. The login lockout stays active in any case.',
  ),
  requests_per_second: intKey({
    default: DEFAULT_REQUEST_RATE,
    min: 1,
    max: 10_000_000,
    env: ['RATE_LIMIT_RPS'],
  }).describe(
    'Maximum number of requests per second of all callers together. Instances on one PostgreSQL share this limit. One address, one client, and all addresses from which no client of operators authenticated within ten minutes together may use at most four fifths of it while others send requests.',
  ),
  burst: intKey({ default: 200, min: 1, max: 10_000_000 }).describe(
    'Burst of requests of all callers together. Instances on one PostgreSQL share this limit.',
  ),
  per_client_requests_per_second: floatKey({ default: 0, min: 0, max: 1_000_000 }).describe(
    'Maximum number of requests per second with which one client authenticates, at all instances together. A burst may use the requests of two seconds. 0: no limit. The `limits` of a client take precedence.',
  ),
  per_client_tokens_per_day: intKey({ default: 0, min: 0, max: 1_000_000_000 }).describe(
    'Maximum number of tokens that one client gets in a day (UTC), at all instances together. 0: no limit. The `limits` of a client take precedence.',
  ),
  auth_fail_max: intKey({ default: 10, min: 0, max: 1_000_000 }).describe(
    'Failed logins from one address before it is locked out, counted across all instances. 0 disables the lockout.',
  ),
  auth_fail_window: durationKey({ default: '10m' }).describe('Period in which failed logins are counted.'),
  auth_lockout: durationKey({ default: '15m' }).describe('How long a lockout of an address lasts.'),
  account_fail_max: intKey({ default: 50, min: 0, max: 1_000_000 }).describe(
    'Failed logins to one account within an hour, from all addresses and at all instances, after which each further login to the account waits a second. The right password still works. 0 disables the wait.',
  ),
} as const
