// The feed of revocations: a stream of the authorization server (OpenID SSF 1.0) that this process creates for itself, so that two processes
// of one resource server do not acknowledge each other's events. Events arrive by poll (RFC 8936) or by push (RFC 8935).
//
// The feed is fresh only while the stream shows that it delivers every revocation of the resource. An answer without events shows nothing.
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { AuthorizationServer } from './authorization_server.ts'
import { DeadlineError } from './deadline.ts'
import type { RevocationOptions } from './options.ts'
import { RevocationList, type SecurityEvent, VERIFICATION } from './revocation_list.ts'
import { checkDelivers, type Delivers, NotDelivering, type Stream, Streams, said } from './streams.ts'

const MAX_AGE = 60
const LONGEST_TOKEN = 86_400
/** The delay after the first of several failures, and the longest delay. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [200, 5000]
/** A poll that waits for events and returns none earlier than this is followed by a delay. */
const EARLY_MS = 1000
/** The authorization server may drop events that waited for longer. After a longer silence the list begins again. */
const MOST_SILENCE_MS = 50_000
/** Maximum time between two requests for a verification event. */
const LONGEST_WAIT_MS = 20_000
/** Maximum number of verification events that were requested and have not arrived. */
const MOST_REQUESTED = 8

/** The response to a poll (RFC 8936 §2.3), with what the stream delivers. */
interface Polled {
  sets: Record<string, string>
  moreAvailable?: boolean
  delivers?: Delivers
}

/** A time by both clocks: a clock that is set back, and a machine that sleeps, must not make the feed look fresh. Milliseconds. */
interface Moment {
  wall: number
  monotonic: number
}
const thisMoment = (): Moment => ({ wall: Date.now(), monotonic: performance.now() })
/** Milliseconds since a moment; infinite if the clock was set back. */
function since({ wall, monotonic }: Moment): number {
  const passed = Date.now() - wall
  return passed < -EARLY_MS ? Number.POSITIVE_INFINITY : Math.max(passed, performance.now() - monotonic)
}

/** A subscription to revocations. It starts with `start`, and `close` deletes its stream. */
export class Feed {
  readonly list: RevocationList
  private readonly server: AuthorizationServer
  private readonly streams: Streams
  private readonly options: RevocationOptions
  private readonly resource: string
  private readonly onKeys: () => void
  private readonly maxAgeMs: number
  private readonly push: { url: string; authorization: string } | undefined
  private readonly ended = new AbortController()
  /** The states of requested verification events, and when each was requested. */
  private readonly requested = new Map<string, Moment>()
  private stream: Stream | undefined
  private version: string | undefined
  private keys: JWTVerifyGetKey | undefined
  private running: Promise<void> | undefined
  private heard: Moment | undefined
  private healthy: boolean | undefined
  /** Only that nothing arrives was reported, and not why. */
  private isUnexplained = false
  private pauseMs = FIRST_PAUSE_MS

  /** `resource` is the URI whose revocations are needed. `onKeys` is called when keys may have been revoked. */
  constructor(server: AuthorizationServer, resource: string, options: RevocationOptions, onKeys: () => void) {
    this.server = server
    this.streams = new Streams(server, options)
    this.resource = resource
    this.onKeys = onKeys
    this.options = options
    this.maxAgeMs = (options.maxAge ?? MAX_AGE) * 1000
    this.list = new RevocationList({ longestToken: options.longestToken ?? LONGEST_TOKEN })
    if (typeof options.delivery === 'object')
      this.push = { url: options.delivery.push, authorization: `Bearer ${randomText()}` }
  }

  /** Whether every event has arrived up to at most `maxAge` seconds ago. If not, revoked tokens could be accepted. The end of it is reported. */
  isFresh(): boolean {
    const isFresh = this.heard !== undefined && since(this.heard) <= this.maxAgeMs
    // Requests that are never answered, and events that never arrive, are no errors.
    if (!isFresh && this.healthy) {
      this.report(false, `nothing has arrived for ${this.maxAgeMs / 1000} seconds`)
      this.isUnexplained = true
    }
    return isFresh
  }

  /** Subscribes, and receives events until `close`. After a failure it tries again. */
  start(): void {
    this.running ??= this.run()
  }

  /** Ends the subscription and deletes the stream. */
  async close(): Promise<void> {
    this.ended.abort()
    await this.running
    if (this.stream) await this.streams.delete(this.stream.stream_id).catch(() => undefined)
  }

  /** Processes a pushed event (RFC 8935 §2). Returns the response. */
  async receive(request: Request): Promise<Response> {
    const given = request.headers.get('authorization') ?? ''
    if (!this.push || !(await isEqual(given, this.push.authorization)))
      return Response.json({ err: 'authentication_failed', description: 'wrong authorization' }, { status: 401 })
    try {
      const { events } = await this.take(await request.text())
      this.verified(events[VERIFICATION]?.state)
    } catch {
      return Response.json({ err: 'invalid_request', description: 'the event is not valid here' }, { status: 400 })
    }
    return new Response(null, { status: 202 })
  }

  private async run(): Promise<void> {
    while (!this.ended.signal.aborted) {
      try {
        this.stream ??= await this.subscribe()
        await (this.push ? this.verifyStream(this.stream) : this.poll(this.stream))
      } catch (error) {
        if (this.ended.signal.aborted) return
        if (error instanceof NotDelivering) this.distrust()
        this.report(false, error instanceof Error ? error.message : String(error))
        await this.pause()
      }
    }
  }

  private async subscribe(): Promise<Stream> {
    await this.readKeys()
    const stream = await this.streams.create(this.push)
    this.list.begin()
    return stream
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
      const asked = thisMoment()
      const answer = await this.pollOnce(delivery.endpoint_url, { maxEvents: 1000, returnImmediately, ack })
      if (answer) {
        this.check(answer.delivers)
        ack = await this.takeAll(answer.sets)
        if (!answer.moreAvailable) this.alive(asked)
        const isEarly = !returnImmediately && !answer.moreAvailable && since(asked) < EARLY_MS
        if (isEarly && ack.length === 0) await this.pause()
        else this.pauseMs = FIRST_PAUSE_MS
      }
      returnImmediately = answer === undefined
      this.isFresh()
    }
  }

  /** One poll. Undefined if the connection was lost: without a deadline that would not be detected. The server answers earlier, unless maxAge is short. */
  private async pollOnce(url: string, body: object): Promise<Polled | undefined> {
    const until = { ms: this.maxAgeMs / 2, ended: this.ended.signal }
    const answer = await this.server.call(this.options, 'POST', url, body, until).catch((error: unknown) => {
      if (error instanceof DeadlineError) return undefined
      throw error
    })
    if (!answer || answer.ok) return answer && (JSON.parse(answer.body) as Polled)
    if (answer.status === 404) this.stream = undefined
    const reason = `the poll was refused: ${said(answer)}`
    throw answer.status < 500 && answer.status !== 429 ? new NotDelivering(reason) : new Error(reason)
  }

  /** Requests a verification event. Without revocations, the server pushes nothing else that shows that the stream works. */
  private async verifyStream({ stream_id }: Stream): Promise<void> {
    const asked = thisMoment()
    const stream = await this.streams.read(stream_id)
    if (!stream) this.stream = undefined
    this.check(stream?.delivers)
    const state = randomText()
    this.requested.set(state, asked)
    const [oldest] = this.requested.keys()
    if (this.requested.size > MOST_REQUESTED && oldest !== undefined) this.requested.delete(oldest)
    await this.streams.verify(stream_id, state)
    this.pauseMs = FIRST_PAUSE_MS
    await this.wait(Math.min(this.maxAgeMs / 3, LONGEST_WAIT_MS))
    this.isFresh()
  }

  /** Throws NotDelivering unless the stream delivers what is needed. If it may have left out events, the list begins again. */
  private check(delivers: Delivers | undefined): void {
    checkDelivers(delivers, this.resource)
    if (delivers.version !== this.version) this.list.begin()
    this.version = delivers.version
  }

  /** Events are pushed in order: when a verification event arrives, everything before its request has arrived. Only states of this process count, once. */
  private verified(state: string | undefined): void {
    const asked = state === undefined ? undefined : this.requested.get(state)
    if (!asked) return
    for (const [each, at] of this.requested) if (at.monotonic <= asked.monotonic) this.requested.delete(each)
    this.alive(asked)
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

  /** Records that every event before a moment has arrived: the moment at which the answered request was sent. */
  private alive(asked: Moment): void {
    if (this.heard && asked.wall - this.heard.wall > MOST_SILENCE_MS) this.list.begin()
    this.heard = asked
    this.report(true, 'the feed of revocations works')
  }

  /** No token is accepted until the stream delivers again, and then earlier tokens are introspected. */
  private distrust(): void {
    this.heard = undefined
    this.version = undefined
    this.requested.clear()
  }

  /** Reports a change, and once the cause of a silence. */
  private report(healthy: boolean, reason: string): void {
    if (this.healthy !== healthy || this.isUnexplained) this.options.onChange?.({ healthy, reason })
    this.healthy = healthy
    this.isUnexplained = false
  }

  /** Waits, for longer each time until the stream works again. */
  private async pause(): Promise<void> {
    await this.wait(this.pauseMs)
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS)
  }

  /** Waits until `close` at most. A signal that has aborted calls no listener any more. */
  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended.signal.aborted) return resolve()
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
