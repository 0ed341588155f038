// Whether the database takes a write and keeps it: a small write each second, which waits for the disk and for the synchronous
// standby as every other one does. A server that answers everything else may still be unable to commit.
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../lib/error.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Milliseconds between two writes, and to the next one after a failure. */
const [EVERY_MS, RETRY_MS] = [1000, 200]
const DISK_FULL = '53100'
/** A write without an answer for this long means that no write is answered. */
export const SILENT_MS = 3000

export interface DurabilityOptions {
  /** Writes and commits; `wide` takes new room on the disk too, as rows of tokens do. */
  write(wide: boolean): Promise<unknown>
  /** Whether a write is worth a try: there is a connection to the server. */
  isReachable(): boolean
  /** Called again and again while writes have no answer. */
  onSilent(): void
  /** Called when writes work again. */
  onBack(): void
  log: Logger
}
export interface Durability {
  /** Resolves when the first write has had an answer. */
  first: Promise<void>
  /** Whether writes are made durable, as far as is known. */
  works(): boolean
  /** A write of somebody else was committed. */
  proven(): void
  /** A write of somebody else failed. A full disk refuses it, and still takes what fits into the room there is. */
  failed(error: unknown): void
  close(): void
}

/** Starts to write, until it is closed. */
export function watchDurability({ write, isReachable, onSilent, onBack, log }: DurabilityOptions): Durability {
  let works = true
  let closed = false
  let provenMs = performance.now()
  /** One that fails may have lost its connection only. */
  let failures = 0
  let isFull = false

  const set = (now: boolean, reason?: string): void => {
    if (now === works) return
    works = now
    if (works) {
      log.info('the database takes writes again')
      onBack()
    } else if (!closed) log.error({ reason }, 'the database takes no writes')
  }
  const attempt = async (): Promise<void> => {
    const beganMs = performance.now()
    let isOver = false
    const wide = isFull
    const writing = write(wide).then(
      () => {
        provenMs = performance.now()
        failures = 0
        // The disk became full meanwhile: the next write shows whether it still is.
        if (isFull && !wide) return
        isFull = false
        set(true)
      },
      (error: Error) => {
        // What others have committed meanwhile says more than one lost connection.
        if (isReachable() && provenMs < beganMs && ++failures > 1) set(false, reasonOf(error))
      },
    )
    void writing.finally(() => {
      isOver = true
    })
    await withTimeout(SILENT_MS, writing)
    while (!isOver && !closed) {
      // Reads go on; writes would wait in vain.
      if (isReachable() && performance.now() - provenMs >= SILENT_MS) {
        set(false, 'a commit had no answer for three seconds: the disk, or a synchronous standby that is away')
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
