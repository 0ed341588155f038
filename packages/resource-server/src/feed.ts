// The feed of revocations: a stream of the authorization server (OpenID SSF 1.0) that this process creates for itself, so that two processes
// of one resource server do not acknowledge each other's events. Events arrive by poll (RFC 8936) or by push (RFC 8935).
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { AuthorizationServer } from './authorization_server.ts'
import type { RevocationOptions } from './options.ts'
import { EVENTS_REQUESTED, RevocationList, type SecurityEvent, VERIFICATION } from './revocation_list.ts'

const POLL = 'urn:ietf:rfc:8936'
const PUSH = 'urn:ietf:rfc:8935'
const MAX_AGE = 60
const LONGEST_TOKEN = 86_400
/** Maximum difference between the clocks of both servers in seconds. */
const CLOCKS = 5
/** The delay after the first of several failures, and the longest delay. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [200, 5000]

interface Stream {
  stream_id: string
  aud: string | string[]
  delivery: { endpoint_url: string }
}

/** The response to a poll (RFC 8936 §2.3). */
interface Polled {
  sets: Record<string, string>
  moreAvailable?: boolean
}

/** A subscription to revocations. It starts with `start`, and `close` deletes its stream. */
export class Feed {
  readonly list: RevocationList
  private readonly server: AuthorizationServer
  private readonly options: RevocationOptions
  private readonly onKeys: () => void
  private readonly maxAge: number
  private readonly push: { url: string; authorization: string } | undefined
  private readonly ended = new AbortController()
  private stream: Stream | undefined
  private keys: JWTVerifyGetKey | undefined
  private running: Promise<void> | undefined
  private heard = Number.NEGATIVE_INFINITY
  private began = Number.POSITIVE_INFINITY
  private healthy: boolean | undefined

  /** `onKeys` is called when keys may have been revoked. */
  constructor(server: AuthorizationServer, options: RevocationOptions, onKeys: () => void) {
    this.server = server
    this.onKeys = onKeys
    this.options = options
    this.maxAge = options.maxAge ?? MAX_AGE
    this.list = new RevocationList(options.longestToken ?? LONGEST_TOKEN)
    if (typeof options.delivery === 'object')
      this.push = { url: options.delivery.push, authorization: `Bearer ${randomText()}` }
  }

  /** Whether every event has arrived up to at most `maxAge` seconds ago. If not, revoked tokens could be accepted. */
  isFresh(): boolean {
    return Date.now() / 1000 - this.heard <= this.maxAge
  }

  /** Whether a token that was issued at `iat` may have been revoked before this feed began. */
  isBeforeFeed(iat: number): boolean {
    return iat <= this.began
  }

  /** Subscribes, and receives events until `close`. After a failure it tries again. */
  start(): void {
    this.running ??= this.run()
  }

  /** Ends the subscription and deletes the stream. */
  async close(): Promise<void> {
    this.ended.abort()
    await this.running
    if (!this.stream) return
    const { configuration_endpoint } = await this.server.transmitter()
    const url = `${configuration_endpoint}?stream_id=${encodeURIComponent(this.stream.stream_id)}`
    await this.server.call(this.options, 'DELETE', url).catch(() => undefined)
  }

  /** Processes a pushed event (RFC 8935 §2). Returns the response. */
  async receive(request: Request): Promise<Response> {
    const given = request.headers.get('authorization') ?? ''
    if (!this.push || !(await isEqual(given, this.push.authorization)))
      return Response.json({ err: 'authentication_failed', description: 'wrong authorization' }, { status: 401 })
    try {
      const { events } = await this.take(await request.text())
      // Events are pushed in order, so everything before the request for a verification event has arrived when that event arrives.
      const asked = Number(events[VERIFICATION]?.state)
      if (asked > 0) this.alive(asked)
    } catch (error) {
      return Response.json({ err: 'invalid_request', description: String(error) }, { status: 400 })
    }
    return new Response(null, { status: 202 })
  }

  private async run(): Promise<void> {
    let pause = FIRST_PAUSE_MS
    while (!this.ended.signal.aborted) {
      try {
        this.stream ??= await this.subscribe()
        await (this.push ? this.verifyStream(this.stream) : this.poll(this.stream))
        pause = FIRST_PAUSE_MS
      } catch (error) {
        if (this.ended.signal.aborted) return
        this.report(false, error instanceof Error ? error.message : String(error))
        await this.wait(pause)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
  }

  private async subscribe(): Promise<Stream> {
    const { configuration_endpoint } = await this.server.transmitter()
    await this.readKeys()
    if (this.options.name !== undefined) await this.deleteEarlier(configuration_endpoint, this.options.name)
    const delivery = this.push
      ? { method: PUSH, endpoint_url: this.push.url, authorization_header: this.push.authorization }
      : { method: POLL }
    const body = { delivery, events_requested: EVENTS_REQUESTED, description: this.options.name ?? '' }
    const answer = await this.server.call(this.options, 'POST', configuration_endpoint, body)
    if (answer.status !== 201) throw new Error(`the stream was not created: ${answer.status} ${await answer.text()}`)
    const stream = (await answer.json()) as Stream
    this.began = Date.now() / 1000 + CLOCKS
    return stream
  }

  /** Deletes the streams of an earlier process with this name. A process that was killed could not delete its stream. */
  private async deleteEarlier(endpoint: string, name: string): Promise<void> {
    const answer = await this.server.call(this.options, 'GET', endpoint)
    if (!answer.ok) throw new Error(`the streams cannot be listed: ${answer.status} ${await answer.text()}`)
    const streams = (await answer.json()) as (Stream & { description?: string })[]
    for (const { stream_id, description } of streams)
      if (description === name)
        await this.server.call(this.options, 'DELETE', `${endpoint}?stream_id=${encodeURIComponent(stream_id)}`)
  }

  private async readKeys(): Promise<void> {
    this.keys = await this.server.keySet()
    this.onKeys()
  }

  /** Polls for events, and polls again after each response. The next poll acknowledges the events of the response. */
  private async poll({ delivery }: Stream): Promise<void> {
    let ack: string[] = []
    // The first poll returns at once, because no token is accepted before its response.
    let returnImmediately: boolean = true
    while (!this.ended.signal.aborted) {
      const asked = Date.now()
      // Without a timeout, a lost connection is not detected. The server answers earlier than that, unless maxAge is short.
      const signal = AbortSignal.any([this.ended.signal, AbortSignal.timeout((this.maxAge * 1000) / 2)])
      const body: object = { maxEvents: 1000, returnImmediately, ack }
      const answer: Response | undefined = await this.server
        .call(this.options, 'POST', delivery.endpoint_url, body, signal)
        .catch((error: Error) => {
          if (error.name === 'TimeoutError') return undefined
          throw error
        })
      if (answer?.status === 404 || answer?.status === 403) this.stream = undefined
      if (answer && !answer.ok) throw new Error(`the poll answered ${answer.status}`)
      if (answer) {
        const { sets, moreAvailable } = (await answer.json()) as Polled
        ack = await this.takeAll(sets)
        if (!moreAvailable) this.alive(asked)
      }
      returnImmediately = answer === undefined
    }
  }

  /** Requests a verification event. Without revocations, the server pushes nothing else that shows that the stream works. */
  private async verifyStream({ stream_id }: Stream): Promise<void> {
    const { verification_endpoint } = await this.server.transmitter()
    const answer = await this.server.call(this.options, 'POST', verification_endpoint, {
      stream_id,
      state: String(Date.now()),
    })
    if (answer.status === 404) this.stream = undefined
    if (!answer.ok) throw new Error(`the verification answered ${answer.status}`)
    await this.wait((this.maxAge * 1000) / 3)
  }

  private async takeAll(sets: Readonly<Record<string, string>>): Promise<string[]> {
    for (const set of Object.values(sets)) await this.take(set)
    return Object.keys(sets)
  }

  private async take(set: string): Promise<SecurityEvent> {
    if (!this.keys || !this.stream) throw new Error('there is no stream')
    const { issuer } = this.server
    const { payload } = await jwtVerify(set, this.keys, { issuer, audience: this.stream.aud, typ: 'secevent+jwt' })
    const event = payload as unknown as SecurityEvent
    if (this.list.apply(event)) await this.readKeys()
    return event
  }

  /** Records that every event up to a time, in epoch milliseconds, has arrived: the time at which the answered request was sent. */
  private alive(at: number): void {
    this.heard = at / 1000
    this.report(true, 'the feed of revocations works')
  }

  private report(healthy: boolean, reason: string): void {
    if (this.healthy !== healthy) this.options.onChange?.({ healthy, reason })
    this.healthy = healthy
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.ended.signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.ended.signal.addEventListener('abort', done)
    })
  }
}

const randomText = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))

/** Compares two texts in constant time, by their digests. */
async function isEqual(left: string, right: string): Promise<boolean> {
  const digest = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  const [a, b] = await Promise.all([digest(left), digest(right)])
  return a.reduce((differences, byte, at) => differences | (byte ^ (b[at] ?? 0)), 0) === 0
}
