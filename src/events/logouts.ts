// Notifies applications of ended sessions (OpenID Connect Back-Channel Logout 1.0). The rows of ended sessions are the queue: each waits until
// its application has accepted a logout token, for a day at most. The sender of events calls this, so that one instance sends.
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { headerSegment } from '../crypto/jws.ts'
import { newId } from '../lib/id.ts'
import { DAY } from '../lib/time.ts'
import { FetchError } from '../net/error.ts'
import { idTokenAlg } from '../oauth/openid.ts'
import type { Client } from '../records/client.ts'
import type { DueLogout } from '../records/session.ts'
import { pauseAfter } from './cursor.ts'
import { TO_RECEIVER } from './receiver_url.ts'

/** Requests in flight, in total and to one client: an application that does not answer must not delay the others. */
const [MAX_RUNNING, MAX_OF_CLIENT] = [32, 4]
/** Lifetime of a logout token in seconds (§2.4 recommends at most two minutes). */
const LIFETIME = 120
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Sends the logouts that are due. */
export class LogoutSender {
  private readonly app: App
  private readonly running = new Map<string, { client_id: string; work: Promise<void> }>()

  constructor(app: App) {
    this.app = app
  }

  get isIdle(): boolean {
    return this.running.size === 0
  }

  /** The logouts that can be sent now. */
  async due(): Promise<DueLogout[]> {
    const { store, config, clock } = this.app
    const limit = MAX_RUNNING - this.running.size
    if (!config.oauth.openid || limit === 0) return []
    const except = [...new Set([...this.running.values()].map(({ client_id }) => client_id))]
    const found = await store.listDueLogouts({ now: clock.now(), except, limit })
    return found.filter(
      ({ client_id }, i) => found.slice(0, i).filter((other) => other.client_id === client_id).length < MAX_OF_CLIENT,
    )
  }

  /** Starts to send logouts. */
  start(logouts: readonly DueLogout[]): void {
    for (const logout of logouts) {
      const work = this.send(logout)
        .catch((error: unknown) => this.app.log.warn({ err: error }, 'a logout could not be sent; it is sent later'))
        .finally(() => this.running.delete(logout.id))
      this.running.set(logout.id, { client_id: logout.client_id, work })
    }
  }

  settled(): Promise<unknown> {
    return Promise.all([...this.running.values()].map(({ work }) => work))
  }

  private async send(logout: DueLogout): Promise<void> {
    const { store, clock, metrics, log } = this.app
    const { id, client_id, attempts } = logout
    const client = await store.findClient({ client_id })
    const uri = client?.backchannel_logout_uri
    if (!client || uri === undefined) return store.settleLogout({ id })
    const error = await this.attempt(client, uri, logout)
    metrics.count('ext_event_deliveries_total', { kind: 'logout', result: error ? 'failed' : 'delivered' })
    if (error === undefined) return store.settleLogout({ id })
    const now = clock.now()
    const expires_at = attempts === 0 ? now + DAY : logout.expires_at
    log.info({ client_id, reason: error, attempts: attempts + 1 }, 'an application did not accept a logout')
    if (expires_at > now) return store.postponeLogout({ id, retry_at: now + pauseAfter(attempts + 1), expires_at })
    metrics.count('ext_event_deliveries_total', { kind: 'logout', result: 'expired' })
    log.warn({ client_id, reason: error }, 'an application could not be notified of a logout within a day')
    return store.settleLogout({ id })
  }

  /** Returns what went wrong. */
  private async attempt(client: Client, uri: string, logout: DueLogout): Promise<string | undefined> {
    const { app } = this
    const { eventFetcher: fetcher } = app
    try {
      const body = new URLSearchParams({ logout_token: await signLogout(app, client, logout) }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const { status } = await fetcher.fetch(uri, { ...TO_RECEIVER, headers, body })
      return status === 200 || status === 204 ? undefined : `HTTP ${status}`
    } catch (error) {
      if (!(error instanceof FetchError)) throw error
      return error.message
    }
  }
}

/** A logout token (§2.4), signed again for each attempt because it expires soon. */
async function signLogout(app: App, client: Client, { sid, user_id }: DueLogout): Promise<string> {
  const key = await app.keyring.idTokenKey(idTokenAlg(app.config, client))
  const iat = app.clock.now()
  const claims = {
    iss: issuerOf(app.config),
    sub: user_id,
    aud: client.client_id,
    iat,
    exp: iat + LIFETIME,
    jti: newId(),
    events: { [EVENT]: {} },
    sid,
  }
  return app.crypto.sign({ ...key, header: headerSegment('logout+jwt', key.alg, key.kid) }, claims)
}
