// Calls whose result several callers share: those that ask while a call is in flight, or within some time after it began.

/** A read whose result, or failure, all callers share for some milliseconds after it began. */
export function sharedRead<R>(ms: number, read: () => Promise<R>): () => Promise<R> {
  let last: { beganMs: number; result: Promise<R> } | undefined
  return () => {
    if (!last || performance.now() - last.beganMs >= ms) last = { beganMs: performance.now(), result: read() }
    return last.result
  }
}

/** The calls in flight, by key. Nothing is kept of a call that has settled. */
export class SingleFlight<V, K = string> {
  private readonly flights = new Map<K, Promise<V>>()

  /** The result of the call in flight for the key. Starts `work` when there is none. */
  run(key: K, work: () => Promise<V>): Promise<V> {
    const flight = this.flights.get(key)
    if (flight) return flight
    const started = work()
    this.flights.set(key, started)
    const remove = () => {
      if (this.flights.get(key) === started) this.flights.delete(key)
    }
    started.then(remove, remove)
    return started
  }

  /** The call in flight for the key. */
  get(key: K): Promise<V> | undefined {
    return this.flights.get(key)
  }

  /** The next run() starts a new call. The call in flight still answers the callers that wait for it. */
  forget(key: K): void {
    this.flights.delete(key)
  }

  /** The same for every key. */
  clear(): void {
    this.flights.clear()
  }

  /** Resolves when every call in flight now has settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.flights.values())
  }
}
