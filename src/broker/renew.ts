// A fresh token of a provider: asked for by one at a time, whichever process it is in, and kept before anybody gets it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import { audit } from '../oauth/audit.ts'
import type { ConnectionEnd } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { Lack, Renewed } from '../records/upstream_token.ts'
import type { GrantLease } from '../store/connections.ts'
import { openConnection, sealCredential, type UpstreamConnection } from './credential.ts'
import type { Renewal } from './protocol.ts'
import { protocolOf } from './protocols.ts'
import { mayBeAnswered, UPSTREAM_PATIENCE, UpstreamRefusal } from './upstream.ts'

/** Longer than a request to the provider takes, so that who holds it is done or dead when it ends. */
const LEASE_SECONDS = 3 * UPSTREAM_PATIENCE
const PATIENCE_MS = 20_000
const LOOK_AGAIN_MS = 50

/** A token for these upstream scopes: asked for now, or what somebody else just got. Throws 503 when the provider is away, or server_error. */
export async function renew(
  app: App,
  provider: BrokerProvider,
  connection: UpstreamConnection,
  wanted: readonly string[],
): Promise<Renewed> {
  const { id } = connection.grant
  const name = wanted.join(' ')
  const flight = app.renewals.get(id)
  if (flight?.wanted === name) return flight.result
  const result = inTurn(app, provider, connection, wanted, flight?.result)
  const mine = { wanted: name, result }
  app.renewals.set(id, mine)
  try {
    return await result
  } finally {
    if (app.renewals.get(id) === mine) app.renewals.delete(id)
  }
}

/** Waits for whoever asks for the same connection, here or in another process, and looks each time what came of it. */
async function inTurn(
  app: App,
  provider: BrokerProvider,
  first: UpstreamConnection,
  wanted: readonly string[],
  before: Promise<Renewed> | undefined,
): Promise<Renewed> {
  const { held, renew: ask } = protocolOf(provider)
  let connection = first
  if (before) {
    await before.catch(() => {})
    const found = await look(app, connection)
    if (!found) return 'missing'
    connection = found
  }
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(LOOK_AGAIN_MS)) {
    const now = app.clock.now()
    const token = held(connection.credential, wanted, now)
    if (token) return token
    if (!ask) return 'missing'
    const { id, version } = connection.grant
    const lease = { id, lease_id: newId() }
    if (await app.store.leaseBrokerGrant({ ...lease, version, now, until: now + LEASE_SECONDS })) {
      const question = () => ask(app, provider, connection.credential, wanted)
      const answer = await underLease(app, provider, connection, lease, question)
      if (answer !== 'changed') return answer
    }
    const found = await look(app, connection)
    if (!found) return 'missing'
    connection = found
  }
  throw unavailable('the provider is not available at the moment', { reason: 'upstream_busy' })
}

/** The connection as it is now. */
const look = async (app: App, { grant }: UpstreamConnection): Promise<UpstreamConnection | undefined> =>
  openConnection(app, await app.store.findBrokerGrant(grant))

/** Asks, and keeps the answer. `changed` when the connection was made anew or ended meanwhile. */
async function underLease(
  app: App,
  provider: BrokerProvider,
  connection: UpstreamConnection,
  lease: GrantLease,
  ask: () => Promise<Renewal | undefined>,
): Promise<Renewed | 'changed'> {
  const count = (outcome: string) =>
    app.metrics.count('ext_upstream_token_refresh_total', { provider: provider.slug, outcome })
  const wasUnsure = isUnsure(connection, app.clock.now())
  let renewal: Renewal | undefined
  try {
    renewal = await ask()
  } catch (error) {
    const isRefused = error instanceof UpstreamRefusal
    count(isRefused ? 'refused' : 'unavailable')
    if (isRefused && error.code === 'invalid_grant')
      return ended(app, provider, lease, wasUnsure ? 'answer_lost' : 'refused_by_provider')
    await release(app, lease, wasUnsure || (rotates(connection) && mayBeAnswered(error)))
    if (isRefused && error.code === 'invalid_scope') return 'insufficient'
    if (!isRefused) throw error
    throw new OAuthError('server_error', 'the provider refused this service', {
      reason: 'upstream_refused',
      cause: error,
    })
  }
  if (!renewal) {
    await release(app, lease, wasUnsure)
    return 'missing'
  }
  count(renewal.token ? 'refreshed' : 'downgraded')
  const { credential, token = 'insufficient' } = renewal
  const saved = await keep(app, lease, () => sealCredential(app, connection.grant, credential))
  return saved ? token : 'changed'
}

/** Whether an answer can hold a new credential in place of this one. */
const rotates = ({ credential }: UpstreamConnection): boolean => credential.refresh_token !== undefined

/** Whether an answer about this credential was lost: that of a request which failed, or of a process that never gave its lease back. */
const isUnsure = (connection: UpstreamConnection, now: number): boolean => {
  const { unsure_since, leased_until = Number.POSITIVE_INFINITY } = connection.grant
  return rotates(connection) && (unsure_since !== undefined || leased_until <= now)
}

/** The provider does not take the credential any more: the user has to connect again, and it is not asked again before. */
async function ended(
  app: App,
  provider: BrokerProvider,
  lease: GrantLease,
  reason: ConnectionEnd,
): Promise<Lack | 'changed'> {
  const grant = await app.store.revokeBrokerGrant({ ...lease, reason, now: app.clock.now() })
  if (!grant) return 'changed'
  const detail = { grant_id: grant.id, user_id: grant.user_id, provider: provider.slug, reason }
  await audit(app, { action: 'broker_grant_revoked', actor_id: 'system', ip: '', detail })
  return lackAfter(reason)
}

/** What a user lacks whose connection ended. */
export const lackAfter = (reason: ConnectionEnd | undefined): Lack => (reason === 'answer_lost' ? 'lost' : 'missing')

/** A lease that is not given back ends by itself; then the connection is unsure, too. */
async function release(app: App, lease: GrantLease, unsure: boolean): Promise<void> {
  const { store, clock } = app
  const released = unsure ? store.releaseUnsure({ ...lease, now: clock.now() }) : store.releaseBrokerGrant(lease)
  await released.catch((error) => {
    app.log.warn({ err: error, grant_id: lease.id }, 'a lease could not be given back; it ends by itself')
  })
}

const ATTEMPTS = 5
const FIRST_WAIT_MS = 100

/** Keeps a credential. Tries again: the provider may have taken the one before back, and then this one is the only one. */
async function keep(app: App, lease: GrantLease, seal: () => Promise<string>): Promise<boolean> {
  for (let attempt = 1; ; attempt++)
    try {
      return await app.store.saveCredential({ ...lease, credential: await seal(), now: app.clock.now() })
    } catch (error) {
      app.log.error({ err: error, grant_id: lease.id, attempt }, 'a renewed credential could not be kept yet')
      if (attempt === ATTEMPTS) throw error
      await sleep(FIRST_WAIT_MS * 2 ** attempt)
    }
}
