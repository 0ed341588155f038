// Who is let in while more is asked for than can be done: so many that they are answered soon. The others are told at once to
// come again, and where many do so at once all the same, they wait a moment for it: or refusing them would be all that is done.
import { type OAuthError, overloaded } from '../lib/error.ts'

/** Those who ask are a crowd when there are more than are done in so many milliseconds, and more than these: a machine that is busy with something else does everything slowly. */
const CROWD = { ms: 35, least: 96 }
/** Of a crowd, so many are let in as are done in so many milliseconds, and never fewer than these. */
const ROOM = { ms: 13, least: 32 }
/** More wait in no queue. */
const MOST = 4096
/** A burst that is over sooner is no crowd. */
const WINDOW_MS = 250
/** Of a window, the part that a thread is busy which has no rest. */
const NO_REST = 0.75
/** The room grows by so much in a window with rest. */
const GROWTH = 1.1
/** So many refusals of a beat leave at once, any more after as long as a beat. */
const BEAT = { ms: 200, refusals: 100 }

/** Something that may be what limits the rate: how many milliseconds it has been busy since it began. */
export type BusyMs = () => number
/** This thread. */
export const loopBusyMs: BusyMs = () => performance.eventLoopUtilization().active

/** Bounds the requests that one thread works on at once by what it gets done (Little's law). */
export class Admission {
  private readonly full = overloaded('front')
  private readonly next: () => OAuthError | undefined
  private readonly limits: readonly BusyMs[]
  private room = MOST
  private underWay = 0
  private held = 0
  private window: { startMs: number; busyMs: number[]; most: number; done: number; refused: number }
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
    if (this.underWay < this.room) return this.next()
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

  private adapt(): void {
    const { startMs, busyMs, most, done, refused } = this.window
    this.window = this.newWindow()
    const lastedMs = this.window.startMs - startMs
    const hasRest = this.window.busyMs.every((ms, i) => ms - (busyMs[i] as number) < NO_REST * lastedMs)
    const doneIn = ({ ms, least }: typeof ROOM) => Math.max(least, (done / lastedMs) * ms)
    if (hasRest) this.room = Math.min(MOST, this.room * GROWTH)
    else if (most > doneIn(CROWD)) this.room = doneIn(ROOM)
    else this.room = refused > 0 ? doneIn(CROWD) : MOST
  }

  private newWindow() {
    const busyMs = this.limits.map((limit) => limit())
    return { startMs: performance.now(), busyMs, most: this.underWay + this.held, done: 0, refused: 0 }
  }
}
