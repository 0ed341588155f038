// Time, servers and senders for the loops that a machine cannot disturb.
import type { Pace, RequestSource } from '../../bench/load/loops.ts'

/** Time that jumps to the next timer once everything has settled. */
export class VirtualTime implements Pace {
  private nowMs = 0
  private timers: { at: number; wake: () => void }[] = []
  now = () => this.nowMs
  sleep = (ms: number) => new Promise<void>((wake) => this.timers.push({ at: this.nowMs + Math.max(0, ms), wake }))

  async run(work: Promise<void>): Promise<void> {
    let done = false
    void work.finally(() => {
      done = true
    })
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve))
      this.timers.sort((a, b) => a.at - b.at)
      const next = this.timers.shift()
      if (!next) continue
      this.nowMs = Math.max(this.nowMs, next.at)
      next.wake()
    }
    await work
  }
}

/** A server that takes `serviceMs` for each request, one after the other, and does nothing at all during its stall. */
export function server(time: VirtualTime, serviceMs: number, stall = { from: Infinity, until: Infinity }) {
  let freeMs = 0
  return async () => {
    let startMs = Math.max(time.now(), freeMs)
    if (startMs >= stall.from && startMs < stall.until) startMs = stall.until
    freeMs = startMs + serviceMs
    await time.sleep(freeMs - time.now())
  }
}
/** Sends on so many connections. */
export const sender = (connections: number, send: RequestSource['send']): RequestSource => ({ connections, send })
