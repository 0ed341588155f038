// Keys of the admin API: each has a capability, and a name for the audit trail.
import type { Config } from '../config/schema.ts'
import type { RequestHead } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import type { Route } from '../http/route.ts'
import { type BucketStore, SharedBuckets } from '../http/shared_buckets.ts'
import { OAuthError } from '../lib/error.ts'
import { digest, equalSecrets } from '../lib/id.ts'

export interface Operator {
  /** Name in the audit trail: `admin` for admin.api_key, `admin:<name>` for one of admin.api_keys. */
  actor_id: string
  capability: 'read' | 'write'
}

/** The holder of admin.api_key, or a command on this machine. */
export const ADMIN = 'admin'
/** Wrong keys that an address may send: the burst, and the rate per second. */
const GUESSES = 20
const GUESSES_PER_SECOND = 1

export interface Gatekeeper {
  /** The operator that a request comes from. Throws unauthorized. */
  operatorOf(head: RequestHead): Operator
  /** Refuses a request whose key is missing, wrong or lacks the capability: unauthorized, access_denied, or slow_down after many wrong keys. */
  guard(needs: Operator['capability']): NonNullable<Route['guard']>
}

/** Guards the admin listener. Wrong keys are counted in the store. */
interface Guarded {
  config: Config
  store: BucketStore
}
/** Takes the keys of the configuration. Without keys, every request is refused. */
export function createGatekeeper({ config: { admin, rate_limit }, store }: Guarded): Gatekeeper {
  const known = [
    ...(admin.api_key ? [{ hash: digest(admin.api_key), actor_id: ADMIN, capability: 'write' as const }] : []),
    ...admin.api_keys.map(({ name, sha256, capability }) => {
      return { hash: Buffer.from(sha256, 'hex').toString('base64url'), actor_id: `${ADMIN}:${name}`, capability }
    }),
  ]
  const guesses = new SharedBuckets('admin_key', { rate: GUESSES_PER_SECOND, burst: GUESSES }, store)

  const find = (head: RequestHead): Operator => {
    if (known.length === 0) throw refused('no_key_configured')
    const hash = digest(presentedKey(head))
    // Every key is compared, so that the time does not reveal which one matched.
    const [operator] = known.filter((each) => equalSecrets(each.hash, hash))
    if (!operator) throw refused('wrong_key')
    return operator
  }
  /** An address that sent many wrong keys must wait before another key is compared. */
  const findSlowly = (head: RequestHead): Operator => {
    const address = subscriber(head.remote)
    const wait = rate_limit.enabled ? guesses.wait(address) : 0
    if (wait > 0) throw tooManyGuesses(wait)
    try {
      return find(head)
    } catch (error) {
      // The request does not wait for the count of all instances; the next key of this address does. Without the store, this instance counts.
      if (error instanceof OAuthError && error.reason === 'wrong_key' && rate_limit.enabled)
        guesses.take(address).catch(() => {})
      throw error
    }
  }

  return {
    operatorOf: find,
    guard: (needs) => (head) => {
      const { capability } = findSlowly(head)
      if (needs === 'write' && capability !== 'write')
        throw new OAuthError('access_denied', 'this admin API key may only read', { reason: 'read_only_key' })
    },
  }
}

const refused = (reason: string) => new OAuthError('unauthorized', 'the admin API key is missing or wrong', { reason })
const tooManyGuesses = (wait: number) =>
  new OAuthError('slow_down', 'too many wrong keys from this address', {
    reason: 'too_many_wrong_keys',
    headers: { 'retry-after': String(wait) },
  })

const SCHEME = 'Bearer '
/** `Authorization: Bearer <key>`. Throws unauthorized. */
function presentedKey({ headers: { authorization = '' }, repeated }: RequestHead): string {
  if (repeated.includes('authorization')) throw refused('repeated_key')
  if (!authorization.startsWith(SCHEME) || authorization.length === SCHEME.length) throw refused('missing_key')
  return authorization.slice(SCHEME.length)
}
