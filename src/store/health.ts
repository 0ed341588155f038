// Whether a storage keeps what it is given. An answer does not show that: a database on a full disk reads well. So it is
// proven by a small write that is committed, every two seconds.
import { isOverloaded } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'
import { UNHEALTHY_MS } from './index.ts'

const PROVE_MS = 2000
const TELL_EVERY_MS = 10_000

export interface Health {
  /** Whether the last write was kept, and something was proven within the last seconds. */
  isHealthy(): boolean
  /** The storage answered. That shows that it is there, not that it can be written. */
  answered(): void
  /** A write failed because the storage is away, full or read-only. Only a proof ends the doubt. */
  failed(error: unknown): void
  close(): void
}
export interface HealthOptions {
  /** Writes and commits; in doubt as much as a batch of tokens needs. Rejects when the storage cannot keep it. */
  prove(inDoubt: boolean): Promise<unknown>
  log: Pick<Logger, 'error' | 'info'>
}

/** Starts to prove a storage that works now. */
export function watchHealth({ prove, log }: HealthOptions): Health {
  let provenMs = performance.now()
  let inDoubt = false
  let proving = false
  let toldMs = Number.NEGATIVE_INFINITY

  const failed = (error: unknown): void => {
    inDoubt = true
    if (performance.now() - toldMs < TELL_EVERY_MS) return
    toldMs = performance.now()
    log.error({ err: error }, 'the database cannot be written: not ready until it can')
  }
  const look = async (): Promise<void> => {
    // One that hangs says enough: nothing is proven meanwhile.
    if (proving) return
    proving = true
    const startedMs = performance.now()
    try {
      await prove(inDoubt)
      provenMs = startedMs
      if (inDoubt) log.info('the database can be written again')
      inDoubt = false
    } catch (error) {
      if (!isOverloaded(error)) failed(error)
    } finally {
      proving = false
    }
  }
  const proofs = setInterval(() => void look(), PROVE_MS)
  proofs.unref()
  return {
    isHealthy: () => !inDoubt && performance.now() - provenMs < UNHEALTHY_MS,
    answered: () => {
      provenMs = performance.now()
    },
    failed,
    close: () => clearInterval(proofs),
  }
}
