// Whether the database can commit: a small write each second, which waits for the disk and for the synchronous standby as every other
// write does. A server that answers everything else may still be unable to commit.
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../lib/error.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Milliseconds between two writes, and until the next write after a failure. */
const [EVERY_MS, RETRY_MS] = [1000, 200]
const DISK_FULL = '53100'
/** A write without an answer for this long means that no write is answered. */
export const SILENT_MS = 3000

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
export interface Durability {
  /** Resolves after the first attempt. */
  first: Promise<void>
  /** Whether the database can commit writes, as far as is known. */
  works(): boolean
  /** An operation was committed. */
  proven(): void
  /** An operation failed. On a full disk, writes that need new space fail, and writes that fit into the allocated space succeed. */
  failed(error: unknown): void
  close(): void
}

/** Starts the writes. They end with close(). */
export function watchDurability({ write, isReachable, onSilent, onBack, log }: DurabilityOptions): Durability {
  let works = true
  let closed = false
  let provenMs = performance.now()
  /** Failures in a row. A single failure may be only a lost connection. */
  let failures = 0
  let isFull = false

  const set = (now: boolean, reason?: string): void => {
    if (now === works) return
    works = now
    if (works) {
      log.info('the database can commit writes again')
      onBack()
    } else if (!closed) log.error({ reason }, 'the database cannot commit writes')
  }
  const attempt = async (): Promise<void> => {
    const beganMs = performance.now()
    let isOver = false
    const wide = isFull
    const writing = write(wide).then(
      () => {
        provenMs = performance.now()
        failures = 0
        // The disk became full during this write: the next write shows whether it still is.
        if (isFull && !wide) return
        isFull = false
        set(true)
      },
      (error: Error) => {
        // An operation that was committed in the meantime counts more than one lost connection.
        if (isReachable() && provenMs < beganMs && ++failures > 1) set(false, reasonOf(error))
      },
    )
    void writing.finally(() => {
      isOver = true
    })
    await withTimeout(SILENT_MS, writing)
    while (!isOver && !closed) {
      // Reads continue. Writes are refused at once, because they would not be answered.
      if (isReachable() && performance.now() - provenMs >= SILENT_MS) {
        set(
          false,
          'a commit had no answer for three seconds: the disk is slow, or a synchronous standby is unavailable',
        )
        onSilent()
      }
      await withTimeout(RETRY_MS, writing)
    }
  }
  const run = async (): Promise<void> => {
    while (!closed) {
      if (isReachable()) await attempt()
      tried()
      await sleep(isFull || (works && failures === 0) ? EVERY_MS : RETRY_MS, undefined, { ref: false })
    }
  }
  let tried: () => void = () => {}
  const first = new Promise<void>((resolve) => {
    tried = resolve
  })
  void run()
  return {
    first,
    works: () => works,
    proven() {
      provenMs = performance.now()
    },
    failed(error) {
      if (!(error instanceof Error) || codeOf(error.cause) !== DISK_FULL) return
      isFull = true
      set(false, reasonOf(error))
    },
    close() {
      closed = true
    },
  }
}

const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message : message)
