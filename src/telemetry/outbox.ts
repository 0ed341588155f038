// What goes to a collector: a bounded queue that is sent in batches, one at a time. Whoever puts something in never waits;
// when the collector is away or slow, what does not fit is dropped and counted.

export interface OutboxOptions<T> {
  /** Sends a batch. Resolves to whether it arrived; bounded in time by itself. */
  send(batch: T[]): Promise<boolean>
  /** Milliseconds between a first item and its batch. */
  delayMs: number
  maxQueue: number
  maxBatch: number
  /** Told how many items arrived, and how many were given up. */
  onSent(count: number): void
  onDropped(count: number): void
}

/** A bounded queue towards a collector. */
export class Outbox<T> {
  private readonly options: OutboxOptions<T>
  private queue: T[] = []
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> | undefined

  constructor(options: OutboxOptions<T>) {
    this.options = options
  }

  /** Queues an item, or drops it when the queue is full. */
  put(item: T): void {
    const { maxQueue, maxBatch, delayMs, onDropped } = this.options
    if (this.queue.length >= maxQueue) {
      onDropped(1)
      return
    }
    this.queue.push(item)
    if (this.queue.length >= maxBatch) this.flush()
    else if (!this.timer && !this.sending) this.flushIn(delayMs)
  }

  /** Sends what is there, then resolves; what fails is dropped. */
  async drain(): Promise<void> {
    while (this.sending || this.queue.length > 0) {
      this.flush()
      await this.sending
    }
  }

  private flushIn(ms: number): void {
    this.timer = setTimeout(() => this.flush(), ms)
    this.timer.unref()
  }

  private flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.sending || this.queue.length === 0) return
    const batch = this.queue.splice(0, this.options.maxBatch)
    this.sending = this.deliver(batch).finally(() => {
      this.sending = undefined
      if (this.queue.length > 0) this.flushIn(this.queue.length >= this.options.maxBatch ? 0 : this.options.delayMs)
    })
  }

  private async deliver(batch: T[]): Promise<void> {
    const arrived = await this.options.send(batch).catch(() => false)
    if (arrived) this.options.onSent(batch.length)
    else this.options.onDropped(batch.length)
  }
}
