// Renewal of an upstream token. A lease in the database lets one process at a time send the request to the provider. The new
// credential is stored before any caller receives the token.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../context.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import { newId } from '../lib/id.ts'
import { newAuditEvent, SYSTEM } from '../oauth/audit.ts'
import type { ConnectionEnd } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { NoTokenReason, RenewalResult } from '../records/upstream_token.ts'
import type { GrantLease } from '../store/people/connections.ts'
import { openConnection, sealCredential, type UpstreamConnection } from './credential.ts'
import type { Renewal } from './protocol.ts'
import { protocolOf } from './protocols.ts'
import { isOutcomeUnknown, UPSTREAM_TIMEOUT, UpstreamRefusal } from './upstream.ts'

/** Longer than a request to the provider takes: when a lease expires, its holder has finished or died. */
const LEASE_SECONDS = 3 * UPSTREAM_TIMEOUT
const LEASE_TIMEOUT_MS = 20_000
const POLL_MS = 50

/**
 * A token with these upstream scopes: requested now, or obtained by a concurrent request. Requests of this process for the same
 * scopes share one renewal. Throws 503 when the provider is unavailable, or server_error.
 */
export const renew = (
  app: App,
  provider: BrokerProvider,
  connection: UpstreamConnection,
  wanted: readonly string[],
): Promise<RenewalResult> =>
  app.renewals.run(`${connection.grant.id} ${wanted.join(' ')}`, () => renewInTurn(app, provider, connection, wanted))

/** Waits for the lease of the connection. After each wait, reads what the holder of the lease has stored. */
async function renewInTurn(
  app: App,
  provider: BrokerProvider,
  first: UpstreamConnection,
  wanted: readonly string[],
): Promise<RenewalResult> {
  const { storedToken, renew: request } = protocolOf(provider)
  let connection = first
  for (const deadline = performance.now() + LEASE_TIMEOUT_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    const now = app.clock.now()
    const token = storedToken(connection.credential, wanted, now)
    if (token) return token
    if (!request) return 'missing'
    const { id, version } = connection.grant
    const lease = { id, lease_id: newId() }
    if (await app.store.leaseBrokerGrant({ ...lease, version, now, until: now + LEASE_SECONDS })) {
      const send = () => request(app, provider, connection.credential, wanted)
      const result = await renewWithLease(app, provider, connection, lease, send)
      if (result !== 'changed') return result
    }
    const found = await reload(app, connection)
    if (!found) return 'missing'
    connection = found
  }
  throw unavailable('the provider is not available at the moment', { reason: 'upstream_busy' })
}

/** The connection as it is stored now. */
const reload = async (app: App, { grant }: UpstreamConnection): Promise<UpstreamConnection | undefined> =>
  openConnection(app, await app.store.findBrokerGrant(grant))

/** Sends the request and stores the new credential. `changed` when the connection was replaced or ended in the meantime. */
async function renewWithLease(
  app: App,
  provider: BrokerProvider,
  connection: UpstreamConnection,
  lease: GrantLease,
  send: () => Promise<Renewal | undefined>,
): Promise<RenewalResult | 'changed'> {
  const count = (outcome: string) =>
    app.metrics.count('ext_upstream_token_refresh_total', { provider: provider.slug, outcome })
  const wasUnsure = isUnsure(connection, app.clock.now())
  let renewal: Renewal | undefined
  try {
    renewal = await send()
  } catch (error) {
    const isRefused = error instanceof UpstreamRefusal
    count(isRefused ? 'refused' : 'unavailable')
    if (isRefused && error.code === 'invalid_grant')
      return endConnection(app, lease, wasUnsure ? 'answer_lost' : 'refused_by_provider')
    await release(app, lease, wasUnsure || (canRotate(connection) && isOutcomeUnknown(error)))
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
  const saved = await save(app, lease, () => sealCredential(app, connection.grant, credential))
  return saved ? token : 'changed'
}

/** Whether a response of the provider can replace this credential. */
const canRotate = ({ credential }: UpstreamConnection): boolean => credential.refresh_token !== undefined

/** Whether a response about this credential may have been lost: a request failed, or a process did not release its lease. */
const isUnsure = (connection: UpstreamConnection, now: number): boolean => {
  const { unsure_since, leased_until = Number.POSITIVE_INFINITY } = connection.grant
  return canRotate(connection) && (unsure_since !== undefined || leased_until <= now)
}

/** The provider no longer accepts the credential. The connection ends, so no further request is sent until the user connects again. */
async function endConnection(app: App, lease: GrantLease, reason: ConnectionEnd): Promise<NoTokenReason | 'changed'> {
  const event = newAuditEvent(app, { ...SYSTEM, action: 'broker_grant_revoked', detail: { reason } })
  const grant = await app.store.recorded('revokeBrokerGrant', { ...lease, reason, now: app.clock.now() }, event)
  return grant ? noTokenAfter(reason) : 'changed'
}

/** Why there is no token after a connection has ended for a reason. */
export const noTokenAfter = (reason: ConnectionEnd | undefined): NoTokenReason =>
  reason === 'answer_lost' ? 'lost' : 'missing'

/** A lease that could not be released expires; the connection is then marked unsure too. */
async function release(app: App, lease: GrantLease, unsure: boolean): Promise<void> {
  const { store, clock } = app
  const released = unsure ? store.releaseUnsure({ ...lease, now: clock.now() }) : store.releaseBrokerGrant(lease)
  await released.catch((error) => {
    app.log.warn({ err: error, grant_id: lease.id }, 'the lease of a connection could not be released; it will expire')
  })
}

const ATTEMPTS = 5
const FIRST_WAIT_MS = 100

/** Stores a credential. Retries on failure: the provider may have revoked the previous credential, and this is then the only valid one. */
async function save(app: App, lease: GrantLease, seal: () => Promise<string>): Promise<boolean> {
  for (let attempt = 1; ; attempt++)
    try {
      return await app.store.saveCredential({ ...lease, credential: await seal(), now: app.clock.now() })
    } catch (error) {
      app.log.error(
        { err: error, grant_id: lease.id, attempt },
        'a renewed credential could not be stored; the operation is retried',
      )
      if (attempt === ATTEMPTS) throw error
      await sleep(FIRST_WAIT_MS * 2 ** attempt)
    }
}
