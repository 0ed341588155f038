// The token for the secret store: configured, or obtained by a login; renewed at half of its lifetime, and replaced when it is refused.
import { SingleFlight } from '../lib/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TransitAnswer } from './transit_answer.ts'
import { TransitRefusal } from './transit_error.ts'

/** A configured token, or an AppRole for the login. */
export type Credentials = { token: string } | { role_id: string; secret_id: string; mount: string }

export interface TransitLease {
  /** The token to use now. Rejects when none can be obtained. */
  token(): Promise<string>
  /** Another token, if `refused` may have expired or been revoked; undefined when there is no other. */
  replace(refused: string): Promise<string | undefined>
}
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
export function openLease(options: Options): TransitLease {
  const { setting, credentials, send, clock, log } = options
  const login = 'token' in credentials ? () => lookUp(credentials.token) : () => logIn(credentials)
  let held: Held | undefined
  let firstLife = 0
  let loggedInAt = Number.NEGATIVE_INFINITY
  const calls = new SingleFlight<void>()

  /** Callers that need a token while one is being obtained wait for that one. */
  const once = (work: () => Promise<void>): Promise<void> => calls.run('token', work)
  /** The lifetime counts from the time of the request, because the answer may have taken long. */
  const hold = (token: string, seconds: number, renewable: boolean, askedAt: number) => {
    const life = seconds || Number.POSITIVE_INFINITY
    held = { token, renewable, renewAt: askedAt + Math.max(PAUSE, life / 2), expiresAt: askedAt + life }
  }

  async function logIn({ role_id, secret_id, mount }: Exclude<Credentials, { token: string }>): Promise<void> {
    const askedAt = clock.now()
    loggedInAt = askedAt
    const path = `auth/${pathOf(mount)}/login`
    const { status, auth, errors } = await send('POST', path, { role_id, secret_id })
    if (status !== 200 || typeof auth['client_token'] !== 'string') throw new TransitRefusal(status, path, errors)
    firstLife = secondsOf(auth['lease_duration'])
    hold(auth['client_token'], firstLife, auth['renewable'] === true, askedAt)
  }

  /** Looks up the lifetime of the configured token. A token without the right to do so is used nevertheless. */
  async function lookUp(token: string): Promise<void> {
    const askedAt = clock.now()
    const { status, data, errors } = await send('GET', 'auth/token/lookup-self', undefined, token)
    if (status !== 200) {
      log.warn({ status, errors }, `${setting}: the token may not look itself up, and will not be renewed`)
      return hold(token, 0, false, askedAt)
    }
    const renewable = data['renewable'] === true
    const ttl = secondsOf(data['ttl'])
    if (ttl > 0 && !renewable) log.warn({ ttl }, `${setting}: the token expires and cannot be renewed`)
    hold(token, ttl, renewable, askedAt)
  }

  /** Renews the token. If that no longer extends its lifetime, logs in again. */
  async function renew({ token, renewable }: Held): Promise<void> {
    if (renewable) {
      const askedAt = clock.now()
      const { status, auth } = await send('POST', 'auth/token/renew-self', {}, token)
      const life = secondsOf(auth['lease_duration'])
      // Near the maximum lifetime of the server, each renewal is shorter than the last.
      if (status === 200 && ('token' in credentials || life * 2 >= firstLife))
        return hold(token, life, auth['renewable'] === true, askedAt)
    }
    if ('token' in credentials) throw new Error('the token cannot be renewed')
    await login()
  }

  function renewAside(current: Held): void {
    current.renewAt = clock.now() + PAUSE
    once(() => renew(current)).catch((error: unknown) => {
      log.warn({ err: error }, `${setting}: the lease could not be renewed; the renewal is retried`)
    })
  }

  return {
    async token() {
      const isOver = held !== undefined && clock.now() >= held.expiresAt && !('token' in credentials)
      if (!held || isOver) await once(login)
      const current = held as Held
      if (clock.now() >= current.renewAt && (current.renewable || !('token' in credentials))) renewAside(current)
      return current.token
    },
    async replace(refused) {
      // Another token may already be requested.
      await calls.settled()
      if (held && held.token !== refused) return held.token
      if ('token' in credentials || (!calls.get('token') && clock.now() < loggedInAt + PAUSE)) return undefined
      await once(login)
      return held?.token
    },
  }
}

/** A path below /v1, from a mount, which may have several segments, and further segments. */
export const pathOf = (mount: string, ...segments: string[]): string =>
  [...mount.split('/').filter(Boolean), ...segments].map(encodeURIComponent).join('/')

const secondsOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0)
