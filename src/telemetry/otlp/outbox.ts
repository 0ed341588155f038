// The queue to a collector: bounded, and sent in batches, one at a time. put() never waits. When the collector is unavailable or
// slow, items that do not fit are dropped and counted.

export interface OutboxOptions<T> {
  /** Sends a batch. Resolves to whether it arrived. It has a timeout of its own. */
  send(batch: T[]): Promise<boolean>
  /** Milliseconds from the first item to its batch. */
  delayMs: number
  maxQueue: number
  maxBatch: number
  /** Called with the number of items that arrived, or were dropped. */
  onSent(count: number): void
  onDropped(count: number): void
}

/** A bounded queue to a collector. */
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

  /** Sends everything that is queued, then resolves. Batches that fail are dropped. */
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
