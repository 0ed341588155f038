// Who is let in while more is asked for than can be done: so many that they are answered soon. The others are told at once to
// come again, and where many do so at once all the same, they wait a moment for it: or refusing them would be all that is done.
import { type OAuthError, overloaded } from '../lib/error.ts'

/** Those who ask are a crowd when there are more than are done in so many milliseconds, and more than these: a machine that is busy with something else does everything slowly. */
const CROWD = { ms: 35, least: 96 }
/** So many more are let in of a burst, after a window with rest. */
const BURST = { ms: 30, least: 192 }
/** Of a crowd, so many are let in as are done in so many milliseconds, and never fewer than these. */
const ROOM = { ms: 10, least: 24 }
/** More wait in no queue. */
const MOST = 4096
/** How long it is looked at what is done, before it is decided anew. */
const WINDOW_MS = 250
/** Of a window, the part that a thread is busy which has no rest. */
const NO_REST = 0.75
/** A window that lasts so long ended without anybody who asked: a crowd is gone. */
const QUIET_MS = 1000
/** A window in which fewer were answered says nothing of what can be done: the process may just be starting. */
const TELLING = 24
/** Of the best rate of a window so much counts in the next one. */
const FADE = 0.95
/** The room grows by so much in a window with rest in which somebody was refused. */
const GROWTH = 1.1
/** So many refusals of a beat leave at once, any more after as long as a beat. */
const BEAT = { ms: 200, refusals: 100 }

/** Something that may be what limits the rate: how many milliseconds it has been busy since it began. */
export type BusyMs = () => number
/** This thread. */
export const loopBusyMs: BusyMs = () => performance.eventLoopUtilization().active

/** What the threads had done when it began. */
interface Span {
  startMs: number
  busyMs: readonly number[]
}

/** Bounds the requests that one thread works on at once by what it gets done (Little's law). */
export class Admission {
  private readonly full = overloaded('front')
  private readonly next: () => OAuthError | undefined
  private readonly limits: readonly BusyMs[]
  /** Requests that a millisecond without rest does, by the best of the last windows; unknown before there was one. */
  private rate: number | undefined
  private room = MOST
  /** How many more may come, once. */
  private spare = 0
  private burst: Span | undefined
  private underWay = 0
  private held = 0
  private window: Span & { most: number; done: number; refused: number }
  private beat = { startMs: Number.NEGATIVE_INFINITY, refusals: 0 }

  /** `next` says why what a request needs next has no room for it. */
  constructor(next: () => OAuthError | undefined, ...limits: readonly BusyMs[]) {
    this.next = next
    this.limits = limits
    this.window = this.newWindow()
  }

  /** Why the next request is not let in, 503; undefined when it is. */
  refusal(): OAuthError | undefined {
    if (performance.now() - this.window.startMs >= WINDOW_MS) this.adapt()
    if (this.underWay < this.room || this.takeSpare()) return this.next()
    this.window.refused++
    return this.full
  }

  /** A request is let in. */
  begin(): void {
    this.underWay++
    this.count()
  }

  /** It is answered. */
  end(): void {
    this.underWay--
    this.window.done++
  }

  /** What a refusal waits for; undefined when it leaves at once. */
  hold(): Promise<void> | undefined {
    const nowMs = performance.now()
    if (nowMs - this.beat.startMs >= BEAT.ms) this.beat = { startMs: nowMs, refusals: 0 }
    if (this.beat.refusals++ < BEAT.refusals) return undefined
    this.held++
    this.count()
    return new Promise((resolve) => {
      const leave = () => {
        this.held--
        resolve()
      }
      // They come back as they are sent away: not all in the same moment.
      setTimeout(leave, Math.round(BEAT.ms * (0.5 + Math.random())))
    })
  }

  // The most of a window, not those of its end: answers leave in bunches, and between two of them hardly anybody is here.
  private count(): void {
    this.window.most = Math.max(this.window.most, this.underWay + this.held)
  }

  /** Whether it comes in as one of a burst. The last one that may tells whether it was one. */
  private takeSpare(): boolean {
    if (this.spare === 0 || this.underWay >= MOST) return false
    this.burst ??= this.newSpan()
    if (--this.spare > 0) return true
    // Threads with rest wait for something else, which fewer requests would not make faster.
    if (this.hadRest(this.burst)) this.open()
    else this.close()
    return true
  }

  private adapt(): void {
    const { done, most, refused, startMs } = this.window
    const lastedMs = performance.now() - startMs
    const rested = this.hadRest(this.window)
    const rate = done / lastedMs
    // Refusals take time as well: a window with some does not say that less can be done.
    if (!rested && done >= TELLING) this.rate = Math.max(rate, (this.rate ?? 0) * (refused > 0 ? 1 : FADE))
    if (rested && (refused === 0 || lastedMs >= QUIET_MS)) this.open()
    else if (rested) this.room = Math.min(this.doneIn(CROWD), this.room * GROWTH)
    else if (most > this.doneIn(CROWD)) this.close(rate)
    else this.room = this.doneIn(CROWD)
    this.spare = Math.min(this.spare, this.doneIn(BURST))
    this.window = this.newWindow()
  }

  private open(): void {
    this.room = this.doneIn(CROWD)
    this.spare = this.doneIn(BURST)
    this.burst = undefined
  }

  private close(rate = this.rate): void {
    this.room = this.doneIn(ROOM, rate)
    this.spare = 0
  }

  private doneIn({ ms, least }: typeof ROOM, rate = this.rate ?? Number.POSITIVE_INFINITY): number {
    return Math.min(MOST, Math.max(least, Math.round(rate * ms)))
  }

  private hadRest({ startMs, busyMs }: Span): boolean {
    const lastedMs = performance.now() - startMs
    return this.limits.every((limit, i) => limit() - (busyMs[i] as number) < NO_REST * lastedMs)
  }

  private newSpan(): Span {
    return { startMs: performance.now(), busyMs: this.limits.map((limit) => limit()) }
  }

  private newWindow() {
    return { ...this.newSpan(), most: this.underWay + this.held, done: 0, refused: 0 }
  }
}
