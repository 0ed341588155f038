// The token that the secret store is called with: had by a login or given, renewed at half of its life, had again when it is refused.
import { SingleFlight } from '../lib/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TransitAnswer } from './transit_answer.ts'
import { TransitRefusal } from './transit_error.ts'

/** A token of the operator's, or an AppRole to log in with. */
export type Credentials = { token: string } | { role_id: string; secret_id: string; mount: string }

export interface TransitLease {
  /** The token to use now. Rejects when there is none and none can be had. */
  token(): Promise<string>
  /** Another token, when `refused` may have expired or been revoked; undefined when there is no other. */
  replace(refused: string): Promise<string | undefined>
}
interface Options {
  setting: string
  credentials: Credentials
  /** Calls the API. Rejects when it is away; a refusal is an answer. */
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

/** Seconds between two attempts to renew or to log in: a policy that refuses must not become a storm of logins. */
const PAUSE = 10

/** Keeps one token; it is had with the first call. */
export function openLease(options: Options): TransitLease {
  const { setting, credentials, send, clock, log } = options
  const login = 'token' in credentials ? () => lookUp(credentials.token) : () => logIn(credentials)
  let held: Held | undefined
  let firstLife = 0
  let loggedInAt = Number.NEGATIVE_INFINITY
  const calls = new SingleFlight<void>()

  /** Callers that need a token while one is being obtained wait for that one. */
  const once = (work: () => Promise<void>): Promise<void> => calls.run('token', work)
  /** Its life is counted from when it was asked for: the answer may have taken long. */
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

  /** How long the operator's token lives. A token without the right to ask is used all the same. */
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

  /** Makes the token live longer; where that does not help any more, logs in again. */
  async function renew({ token, renewable }: Held): Promise<void> {
    if (renewable) {
      const askedAt = clock.now()
      const { status, auth } = await send('POST', 'auth/token/renew-self', {}, token)
      const life = secondsOf(auth['lease_duration'])
      // Near the maximum that the server allows the lives become shorter and shorter.
      if (status === 200 && ('token' in credentials || life * 2 >= firstLife))
        return hold(token, life, auth['renewable'] === true, askedAt)
    }
    if ('token' in credentials) throw new Error('the token cannot be renewed')
    await login()
  }

  function renewAside(current: Held): void {
    current.renewAt = clock.now() + PAUSE
    once(() => renew(current)).catch((error: unknown) => {
      log.warn({ err: error }, `${setting}: the lease could not be renewed; it is tried again`)
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
      // Another one may be on its way already.
      await calls.settled()
      if (held && held.token !== refused) return held.token
      if ('token' in credentials || (!calls.get('token') && clock.now() < loggedInAt + PAUSE)) return undefined
      await once(login)
      return held?.token
    },
  }
}

/** A path below /v1 from a mount that may have several segments, and further segments. */
export const pathOf = (mount: string, ...segments: string[]): string =>
  [...mount.split('/').filter(Boolean), ...segments].map(encodeURIComponent).join('/')

const secondsOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0)
