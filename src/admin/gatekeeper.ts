// Who sends a request to the admin API: the holder of a key of the configuration or of a key that was created at run time, or a session of
// the admin page. Each has a capability, and a name for the audit trail.
import type { App } from '../context.ts'
import type { RequestHead } from '../http/message.ts'
import type { BucketStore } from '../http/shared_buckets.ts'
import { OAuthError } from '../lib/error.ts'
import { digest, equalSecrets } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { apiKeyFinder, wrongKeyCounter } from '../oauth/stored_api_key.ts'
import type { AdminSession } from '../records/admin_session.ts'
import type { ApiKey, Capability } from '../records/api_key.ts'
import type { Store } from '../store/index.ts'
import { ADMIN, adminActor, capabilityOfPerson } from './people/people.ts'
import { type FoundSession, findAdminPageSession } from './people/session.ts'
import { requireCapability } from './rights.ts'

export interface Operator {
  /** Name in the audit trail: `admin` for admin.api_key, `admin:<name>` for a key with a name, `admin:<email>` when a person signed in. */
  actor_id: string
  capability: Capability
  /** The key of the request, as a session refers to it. */
  key?: Pick<AdminSession, 'api_key_id' | 'config_key'>
  /** The session of the request. */
  session?: FoundSession
}

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
  const configured = configuredKeys(app)
  const findKey = apiKeyFinder(store, clock)
  const countWrongKey = wrongKeyCounter('admin_key', config, store)
  const accepted = new WeakMap<RequestHead, Operator>()

  const find = async (key: string): Promise<Operator> => {
    const hash = digest(key)
    // Every key is compared, so that the time does not reveal which one matched.
    const [known] = configured.filter((each) => equalSecrets(each.hash, hash))
    if (known) return known
    const stored = await findKey(key)
    if (!stored) throw refused(configured.length === 0 ? 'no_key_configured' : 'wrong_key')
    const operator = operatorOfKey(stored)
    if (!operator)
      throw new OAuthError('access_denied', 'a SCIM key is not a key of the admin API', { reason: 'scim_key' })
    return { ...operator, key: { api_key_id: stored.id } }
  }
  const findByKey = async (head: RequestHead): Promise<Operator> => {
    try {
      return await find(presentedKey(head))
    } catch (error) {
      if (!(error instanceof OAuthError) || error.reason !== 'wrong_key') throw error
      throw countWrongKey(head) ?? error
    }
  }

  const operatorOfSession = (session: FoundSession): Operator | undefined => {
    const operator = ownerOfSession(session)
    return operator && session.isWall ? { ...operator, capability: 'viewer' } : operator
  }
  const ownerOfSession = (session: FoundSession): Operator | undefined => {
    const { user, key } = session
    const { config_key, identity } = session.session
    if (key) {
      const operator = operatorOfKey(key)
      return operator && { ...operator, session }
    }
    const known = config_key && configured.find(({ macs }) => macs.some((mac) => equalSecrets(mac, config_key)))
    if (known) return { actor_id: known.actor_id, capability: known.capability, session }
    const capability = user && identity && capabilityOfPerson(app, identity, user)
    return capability && { actor_id: identity.actor_id, capability, session }
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
      const operator = await (head.headers.authorization === undefined ? findBySession(head) : findByKey(head))
      requireCapability(operator, needs)
      accepted.set(head, operator)
    },
  }
}

/** A key as an operator. Undefined for a SCIM key. */
const operatorOfKey = ({ name, capability }: Pick<ApiKey, 'name' | 'capability'>) =>
  capability === 'scim' ? undefined : { actor_id: adminActor(name), capability }

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

const refused = (reason: Reason) => new OAuthError('unauthorized', 'the admin API key is missing or wrong', { reason })

const SCHEME = 'Bearer '
/** `Authorization: Bearer <key>`. Throws unauthorized. */
function presentedKey({ headers: { authorization = '' }, repeated }: RequestHead): string {
  if (repeated.includes('authorization')) throw refused('repeated_key')
  if (!authorization.startsWith(SCHEME) || authorization.length === SCHEME.length) throw refused('missing_key')
  return authorization.slice(SCHEME.length)
}
