// Admission control under overload: accepts only as many requests as are answered soon, and refuses the others at once with 503. When
// many clients repeat refused requests immediately, their refusals are delayed, because refusing would otherwise take all the time.
import { type OAuthError, overloaded } from '../lib/error.ts'

/**
 * Overload threshold: the requests in progress exceed what is completed in this time, and exceed the minimum. Because of
 * the minimum, a machine that is slow because of other work does not refuse requests.
 */
const OVERLOAD = { ms: 35, least: 96 }
/** Burst credits granted after an unsaturated window: the requests completed in this time, and at least the minimum. */
const BURST = { ms: 30, least: 192 }
/** Limit on requests in progress under overload: the requests completed in this time, and at least the minimum. */
const OVERLOADED = { ms: 10, least: 24 }
/** Maximum number of requests in progress in any case. */
const MAX_IN_PROGRESS = 4096
/** Length of the measuring window after which the limit is adapted. */
const WINDOW_MS = 250
/** Utilisation above which a thread counts as saturated. */
const SATURATED = 0.75
/** A window ends with a request. When a window lasted this long, no requests arrived at its end, so the overload is over. */
const QUIET_MS = 1000
/** Minimum number of answers in a window that measures the throughput. With fewer answers, the process may just be starting. */
const MIN_ANSWERS = 24
/** Factor by which the best measured throughput decays with each window. */
const DECAY = 0.95
/** Factor by which the limit grows after an unsaturated window with refusals. */
const GROWTH = 1.1
/** Refusals per interval that are sent at once. Further ones are delayed by about one interval. */
const REFUSAL_INTERVAL = { ms: 200, most: 100 }

/** Busy milliseconds, since the start, of a resource that can limit the throughput. */
export type BusyMs = () => number
/** Busy milliseconds of the event loop of this thread. */
export const loopBusyMs: BusyMs = () => performance.eventLoopUtilization().active

/** The start of a measurement: its time, and the busy time of each resource then. */
interface Span {
  startMs: number
  busyMs: readonly number[]
}

/** Limits the requests in progress of one thread by its throughput (Little's law). */
export class Admission {
  private readonly full = overloaded('front')
  private readonly next: () => OAuthError | undefined
  private readonly resources: readonly BusyMs[]
  /** Requests per millisecond of a saturated thread: the best of the last windows. Undefined before the first one. */
  private rate: number | undefined
  private limit = MAX_IN_PROGRESS
  /** Requests above the limit that are still accepted, once. */
  private burstCredits = 0
  private burst: Span | undefined
  private inProgress = 0
  private delayed = 0
  private window: Span & { most: number; done: number; refused: number }
  private refusals = { startMs: Number.NEGATIVE_INFINITY, count: 0 }

  /** `next` returns the refusal of the queue that a request needs next, when it is full. */
  constructor(next: () => OAuthError | undefined, ...resources: readonly BusyMs[]) {
    this.next = next
    this.resources = resources
    this.window = this.newWindow()
  }

  /** The refusal (503) of the next request; undefined when it is accepted. */
  refusal(): OAuthError | undefined {
    if (performance.now() - this.window.startMs >= WINDOW_MS) this.adapt()
    if (this.inProgress < this.limit || this.takeBurstCredit()) return this.next()
    this.window.refused++
    return this.full
  }

  /** A request was accepted. */
  begin(): void {
    this.inProgress++
    this.count()
  }

  /** A request was answered. */
  end(): void {
    this.inProgress--
    this.window.done++
  }

  /** The delay of a refusal; undefined when it is sent at once. */
  hold(): Promise<void> | undefined {
    const nowMs = performance.now()
    if (nowMs - this.refusals.startMs >= REFUSAL_INTERVAL.ms) this.refusals = { startMs: nowMs, count: 0 }
    if (this.refusals.count++ < REFUSAL_INTERVAL.most) return undefined
    this.delayed++
    this.count()
    return new Promise((resolve) => {
      const leave = () => {
        this.delayed--
        resolve()
      }
      // Clients repeat a request when the refusal arrives: random delays spread them.
      setTimeout(leave, Math.round(REFUSAL_INTERVAL.ms * (0.5 + Math.random())))
    })
  }

  // The maximum of a window, not the value at its end: answers are sent in batches, and between two batches few requests are in progress.
  private count(): void {
    this.window.most = Math.max(this.window.most, this.inProgress + this.delayed)
  }

  /** Accepts a request as part of a burst. The last credit decides whether it was a burst or an overload. */
  private takeBurstCredit(): boolean {
    if (this.burstCredits === 0 || this.inProgress >= MAX_IN_PROGRESS) return false
    this.burst ??= this.newSpan()
    if (--this.burstCredits > 0) return true
    // An unsaturated thread waits for something else. Fewer requests would not make that faster.
    if (this.isUnsaturated(this.burst)) this.open()
    else this.close()
    return true
  }

  private adapt(): void {
    const { done, most, refused, startMs } = this.window
    const lastedMs = performance.now() - startMs
    const unsaturated = this.isUnsaturated(this.window)
    const rate = done / lastedMs
    // Refusals take time too: a lower rate in a window with refusals does not show a lower throughput.
    if (!unsaturated && done >= MIN_ANSWERS) this.rate = Math.max(rate, (this.rate ?? 0) * (refused > 0 ? 1 : DECAY))
    if (unsaturated && (refused === 0 || lastedMs >= QUIET_MS)) this.open()
    else if (unsaturated) this.limit = Math.min(this.doneIn(OVERLOAD), this.limit * GROWTH)
    else if (most > this.doneIn(OVERLOAD)) this.close(rate)
    else this.limit = this.doneIn(OVERLOAD)
    this.burstCredits = Math.min(this.burstCredits, this.doneIn(BURST))
    this.window = this.newWindow()
  }

  private open(): void {
    this.limit = this.doneIn(OVERLOAD)
    this.burstCredits = this.doneIn(BURST)
    this.burst = undefined
  }

  private close(rate = this.rate): void {
    this.limit = this.doneIn(OVERLOADED, rate)
    this.burstCredits = 0
  }

  private doneIn({ ms, least }: typeof OVERLOADED, rate = this.rate ?? Number.POSITIVE_INFINITY): number {
    return Math.min(MAX_IN_PROGRESS, Math.max(least, Math.round(rate * ms)))
  }

  private isUnsaturated({ startMs, busyMs }: Span): boolean {
    const lastedMs = performance.now() - startMs
    return this.resources.every((busy, i) => busy() - (busyMs[i] as number) < SATURATED * lastedMs)
  }

  private newSpan(): Span {
    return { startMs: performance.now(), busyMs: this.resources.map((busy) => busy()) }
  }

  private newWindow() {
    return { ...this.newSpan(), most: this.inProgress + this.delayed, done: 0, refused: 0 }
  }
}
