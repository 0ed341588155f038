// The token for the secret store: configured, or obtained by a login; renewed at half of its lifetime, and replaced when it is refused.
import { SingleFlight } from '../../lib/threads/single_flight.ts'
import type { Clock } from '../../lib/time.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { TransitAnswer } from './answer.ts'
import { TransitRefusal } from './error.ts'

interface AppRole {
  role_id: string
  secret_id: string
  mount: string
}
/** A configured token, or an AppRole for the login. */
export type Credentials = { token: string } | AppRole

interface Options {
  setting: string
  credentials: Credentials
  /** Calls the API. Rejects when it is unavailable; a refusal is an answer. */
  send(method: 'GET' | 'POST', path: string, body?: object, token?: string): Promise<TransitAnswer>
  clock: Clock
  log: Logger
}
interface Held {
  token: string
  renewable: boolean
  /** Epoch seconds; Infinity for a token that does not expire. */
  renewAt: number
  expiresAt: number
}

/** Seconds between two attempts to renew or to log in: a policy that refuses must not cause a storm of logins. */
const PAUSE = 10

/** Manages one token. It is obtained with the first call. */
export class Lease {
  private readonly options: Options
  private readonly calls = new SingleFlight<void>()
  private held: Held | undefined
  private firstLife = 0
  private loggedInAt = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
    this.options = options
  }

  /** The token to use now. Rejects when none can be obtained. */
  async token(): Promise<string> {
    const { clock } = this.options
    const isOver = this.held !== undefined && clock.now() >= this.held.expiresAt && this.hasLogin
    if (!this.held || isOver) await this.once(() => this.obtain())
    const current = this.held as Held
    if (clock.now() >= current.renewAt && (current.renewable || this.hasLogin)) this.renewAside(current)
    return current.token
  }

  /** Another token, if `refused` may have expired or been revoked; undefined when there is no other. */
  async replace(refused: string): Promise<string | undefined> {
    // Another token may already be requested.
    await this.calls.settled()
    if (this.held && this.held.token !== refused) return this.held.token
    const isPaused = !this.calls.get('token') && this.options.clock.now() < this.loggedInAt + PAUSE
    if (!this.hasLogin || isPaused) return undefined
    await this.once(() => this.obtain())
    return this.held?.token
  }

  private get hasLogin(): boolean {
    return !('token' in this.options.credentials)
  }

  /** Callers that need a token while one is being obtained wait for that one. */
  private once(work: () => Promise<void>): Promise<void> {
    return this.calls.run('token', work)
  }

  private obtain(): Promise<void> {
    const { credentials } = this.options
    return 'token' in credentials ? this.lookUp(credentials.token) : this.logIn(credentials)
  }

  /** The lifetime counts from the time of the request, because the answer may have taken long. */
  private hold(token: string, seconds: number, renewable: boolean, askedAt: number): void {
    const life = seconds || Number.POSITIVE_INFINITY
    this.held = { token, renewable, renewAt: askedAt + Math.max(PAUSE, life / 2), expiresAt: askedAt + life }
  }

  private async logIn({ role_id, secret_id, mount }: AppRole): Promise<void> {
    const askedAt = this.options.clock.now()
    this.loggedInAt = askedAt
    const path = `auth/${pathOf(mount)}/login`
    const { status, auth, errors } = await this.options.send('POST', path, { role_id, secret_id })
    if (status !== 200 || typeof auth['client_token'] !== 'string') throw new TransitRefusal(status, path, errors)
    this.firstLife = secondsOf(auth['lease_duration'])
    this.hold(auth['client_token'], this.firstLife, auth['renewable'] === true, askedAt)
  }

  /** Looks up the lifetime of the configured token. A token without the right to do so is used nevertheless. */
  private async lookUp(token: string): Promise<void> {
    const { setting, send, clock, log } = this.options
    const askedAt = clock.now()
    const { status, data, errors } = await send('GET', 'auth/token/lookup-self', undefined, token)
    if (status !== 200) {
      log.warn({ status, errors }, `${setting}: the token may not look itself up, and will not be renewed`)
      return this.hold(token, 0, false, askedAt)
    }
    const renewable = data['renewable'] === true
    const ttl = secondsOf(data['ttl'])
    if (ttl > 0 && !renewable) log.warn({ ttl }, `${setting}: the token expires and cannot be renewed`)
    this.hold(token, ttl, renewable, askedAt)
  }

  /** Renews the token. If that no longer extends its lifetime, logs in again. */
  private async renew({ token, renewable }: Held): Promise<void> {
    if (renewable) {
      const askedAt = this.options.clock.now()
      const { status, auth } = await this.options.send('POST', 'auth/token/renew-self', {}, token)
      const life = secondsOf(auth['lease_duration'])
      // Near the maximum lifetime of the server, each renewal is shorter than the last.
      if (status === 200 && (!this.hasLogin || life * 2 >= this.firstLife))
        return this.hold(token, life, auth['renewable'] === true, askedAt)
    }
    if (!this.hasLogin) throw new Error('the token cannot be renewed')
    await this.obtain()
  }

  private renewAside(current: Held): void {
    const { setting, clock, log } = this.options
    current.renewAt = clock.now() + PAUSE
    this.once(() => this.renew(current)).catch((error: unknown) => {
      log.warn({ err: error }, `${setting}: the lease could not be renewed; the renewal is retried`)
    })
  }
}

/** A path below /v1, from a mount, which may have several segments, and further segments. */
export const pathOf = (mount: string, ...segments: string[]): string =>
  [...mount.split('/').filter(Boolean), ...segments].map(encodeURIComponent).join('/')

const secondsOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0)
