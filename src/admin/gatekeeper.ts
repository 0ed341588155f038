// Who sends a request to the admin API: the holder of a key of the configuration or of a key that was created at run time, or a session of
// the admin page. Each has a capability, and a name for the audit trail.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { type BucketStore, SharedBuckets } from '../http/shared_buckets.ts'
import { OAuthError } from '../lib/error.ts'
import { digest, equalSecrets, parseBearer } from '../lib/id.ts'
import { Lru } from '../lib/lru.ts'
import type { Clock } from '../lib/time.ts'
import type { AdminSession } from '../records/admin_session.ts'
import { type ApiKey, type Capability, includesCapability } from '../records/api_key.ts'
import type { Store } from '../store/index.ts'
import { ADMIN, actorOfPerson, adminActor, capabilityOfPerson } from './people.ts'
import { type FoundSession, findAdminPageSession } from './session.ts'

export interface Operator {
  /** Name in the audit trail: `admin` for admin.api_key, `admin:<name>` for a key with a name, `admin:<email>` when a person signed in. */
  actor_id: string
  capability: Capability
  /** The key of the request, as a session refers to it. */
  key?: Pick<AdminSession, 'api_key_id' | 'config_key'>
  /** The session of the request. */
  session?: FoundSession
}

/** How keys that were created at run time begin. */
export const API_KEY_PREFIX = 'sak'
/** Wrong keys that an address may send: the burst, and the rate per second. */
const GUESSES = 20
const GUESSES_PER_SECOND = 1
/** The last use of a key is recorded at most once in this time. */
const USE_NOTED_SECONDS = 10
const MAX_NOTED = 10_000

/** What the members `capability` of `admin.api_keys` mean. */
const CONFIGURED = { read: 'viewer', write: 'admin' } as const

export interface Gatekeeper {
  /** The operator of a request that guard() admitted. */
  operatorOf(head: RequestHead): Operator
  /** The operator of a session. Undefined when the person or the key has no capability any more. */
  operatorOfSession(found: FoundSession): Operator | undefined
  /**
   * Refuses a request whose key is missing, wrong or lacks the capability: unauthorized, access_denied, or slow_down after many wrong
   * keys.
   */
  guard(needs: Capability): (head: RequestHead) => Promise<void>
}

/** Guards the admin listener. Wrong keys are counted in the store. */
interface Guarded extends Pick<App, 'config' | 'clock' | 'sealer' | 'oidc'> {
  store: BucketStore & Pick<Store, 'findApiKey' | 'touchApiKey' | 'findAdminSession'>
}

/** Makes the gatekeeper of the admin listener. Without any key, every request is refused. */
export function createGatekeeper(app: Guarded): Gatekeeper {
  const { config, store, clock } = app
  const { rate_limit } = config
  const configured = configuredKeys(app)
  const noteUse = useRecorder(store, clock)
  const guesses = new SharedBuckets('admin_key', { rate: GUESSES_PER_SECOND, burst: GUESSES }, store)
  const accepted = new WeakMap<RequestHead, Operator>()

  const find = async (key: string): Promise<Operator> => {
    const hash = digest(key)
    // Every key is compared, so that the time does not reveal which one matched.
    const [known] = configured.filter((each) => equalSecrets(each.hash, hash))
    if (known) return known
    const bearer = parseBearer(API_KEY_PREFIX, key)
    const stored = bearer && (await store.findApiKey(bearer))
    if (!stored || !equalSecrets(stored.hash, hash))
      throw refused(configured.length === 0 ? 'no_key_configured' : 'wrong_key')
    noteUse(stored)
    return { actor_id: adminActor(stored.name), capability: stored.capability, key: { api_key_id: stored.id } }
  }
  /** An address that sent many wrong keys must wait before another key is compared. */
  const findSlowly = async (head: RequestHead): Promise<Operator> => {
    const address = subscriber(head.remote)
    const wait = rate_limit.enabled ? guesses.wait(address) : 0
    if (wait > 0) throw tooManyGuesses(wait)
    try {
      return await find(presentedKey(head))
    } catch (error) {
      // The request does not wait for the count of all instances; the next key of this address does. Without the store, this instance counts.
      if (error instanceof OAuthError && error.reason === 'wrong_key' && rate_limit.enabled)
        guesses.take(address).catch(() => {})
      throw error
    }
  }

  const operatorOfSession = (session: FoundSession): Operator | undefined => {
    const {
      user,
      key,
      session: { config_key },
    } = session
    if (key) return { actor_id: adminActor(key.name), capability: key.capability, session }
    const known = config_key && configured.find(({ macs }) => macs.some((mac) => equalSecrets(mac, config_key)))
    if (known) return { actor_id: known.actor_id, capability: known.capability, session }
    const capability = user && capabilityOfPerson(app, user)
    return capability && { actor_id: actorOfPerson(user), capability, session }
  }
  const findBySession = async (head: RequestHead): Promise<Operator> => {
    const found = await findAdminPageSession(app, head)
    const operator = found && operatorOfSession(found)
    if (!operator) throw refused('missing_key')
    return operator
  }

  return {
    operatorOfSession,
    operatorOf(head) {
      const operator = accepted.get(head)
      if (!operator) throw refused('not_guarded')
      return operator
    },
    guard: (needs) => async (head) => {
      const operator = await (head.headers.authorization === undefined ? findBySession(head) : findSlowly(head))
      if (!includesCapability(operator.capability, needs)) throw lacks(operator, needs)
      accepted.set(head, operator)
    },
  }
}

/** The keys of the configuration, with the hashes of their texts. */
function configuredKeys({ config: { admin }, sealer }: Guarded) {
  const keys = [
    ...(admin.api_key ? [{ hash: digest(admin.api_key), actor_id: ADMIN, capability: 'admin' as const }] : []),
    ...admin.api_keys.map(({ name, sha256, capability }) => ({
      hash: Buffer.from(sha256, 'hex').toString('base64url'),
      actor_id: adminActor(name),
      capability: CONFIGURED[capability],
    })),
  ]
  // A session refers to the key by a MAC: the hash of a key that a person chose could be guessed from the database.
  return keys.map((key) => {
    const macs = sealer.macs('admin session key', key.hash)
    return { ...key, key: { config_key: macs[0] }, macs }
  })
}

/** Records the last use of keys, in the background. Requests do not wait for it, and the storage reports its own failures. */
function useRecorder(store: Pick<Store, 'touchApiKey'>, clock: Clock): (key: ApiKey) => void {
  const noted = new Lru<number>(MAX_NOTED)
  return ({ id }) => {
    const now = clock.now()
    if (now - (noted.get(id) ?? 0) < USE_NOTED_SECONDS) return
    noted.set(id, now)
    store.touchApiKey({ id, now }).catch(() => {})
  }
}

const refused = (reason: string) => new OAuthError('unauthorized', 'the admin API key is missing or wrong', { reason })
const lacks = ({ capability }: Operator, needs: Capability) =>
  new OAuthError('access_denied', `this needs the capability ${needs}; the caller has ${capability}`, {
    reason: 'missing_capability',
  })
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
