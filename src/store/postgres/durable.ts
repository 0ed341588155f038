// Whether the database can commit: a small write each second, which waits for the disk and for the synchronous standby as every other
// write does. A server that answers everything else may still be unable to commit.
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../lib/error.ts'
import { withTimeout } from '../../lib/timeout.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Milliseconds between two writes, and until the next write after a failure. */
const [EVERY_MS, RETRY_MS] = [1000, 200]
const DISK_FULL = '53100'
/** A write without an answer for this long means that no write is answered. */
export const SILENT_MS = 3000
const SILENT = 'a commit had no answer for three seconds: the disk is slow, or a synchronous standby is unavailable'

export interface DurabilityOptions {
  /** Commits a small write. `wide` also allocates space on the disk, as rows of tokens do. */
  write(wide: boolean): Promise<unknown>
  /** Whether there is a connection to the server. Without one no write is tried. */
  isReachable(): boolean
  /** Called repeatedly while writes have no answer. */
  onSilent(): void
  /** Called when writes work again. */
  onBack(): void
  log: Logger
}
/** The writes, which begin at once and end with close(). */
export class Durability {
  /** Whether the database can commit writes, as far as is known. */
  works = true
  /** Resolves after the first attempt. */
  readonly first: Promise<void>
  private readonly options: DurabilityOptions
  private closed = false
  private provenMs = performance.now()
  /** Failures in a row. A single failure may be only a lost connection. */
  private failures = 0
  private isFull = false

  constructor(options: DurabilityOptions) {
    this.options = options
    this.first = new Promise((resolve) => void this.run(resolve))
  }

  /** Writes until close(). Calls `tried` after each attempt. */
  private async run(tried: () => void): Promise<void> {
    while (!this.closed) {
      if (this.options.isReachable()) await this.attempt()
      tried()
      const works = this.isFull || (this.works && this.failures === 0)
      await sleep(works ? EVERY_MS : RETRY_MS, undefined, { ref: false })
    }
  }

  /** An operation was committed. */
  proven(): void {
    this.provenMs = performance.now()
  }

  /** An operation failed. On a full disk, writes that need new space fail, and writes that fit into the allocated space succeed. */
  failed(error: unknown): void {
    if (!(error instanceof Error) || codeOf(error.cause) !== DISK_FULL) return
    this.isFull = true
    this.set(false, reasonOf(error))
  }

  close(): void {
    this.closed = true
  }

  private set(now: boolean, reason?: string): void {
    if (now === this.works) return
    this.works = now
    if (this.works) {
      this.options.log.info('the database can commit writes again')
      this.options.onBack()
    } else if (!this.closed) this.options.log.error({ reason }, 'the database cannot commit writes')
  }

  private async attempt(): Promise<void> {
    let isOver = false
    const writing = this.write()
    void writing.finally(() => {
      isOver = true
    })
    await withTimeout(SILENT_MS, writing)
    while (!isOver && !this.closed) {
      // Reads continue. Writes are refused at once, because they would not be answered.
      if (this.options.isReachable() && performance.now() - this.provenMs >= SILENT_MS) {
        this.set(false, SILENT)
        this.options.onSilent()
      }
      await withTimeout(RETRY_MS, writing)
    }
  }

  /** One write. Its failure is noted and not thrown. */
  private async write(): Promise<void> {
    const beganMs = performance.now()
    const wide = this.isFull
    try {
      await this.options.write(wide)
    } catch (error) {
      // An operation that was committed in the meantime counts more than one lost connection.
      if (this.options.isReachable() && this.provenMs < beganMs && ++this.failures > 1)
        this.set(false, reasonOf(error as Error))
      return
    }
    this.proven()
    this.failures = 0
    // The disk became full during this write: the next write shows whether it still is.
    if (this.isFull && !wide) return
    this.isFull = false
    this.set(true)
  }
}

const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message : message)
