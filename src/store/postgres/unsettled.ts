// Operations that may have been committed although their caller received an error and may retry. They are reverted before the retry
// is run, in whichever thread of this process it arrives. They are kept in memory only, so a crash of this process loses them.
import type { OAuthError } from '../../lib/error.ts'
import { withTimeout } from '../../lib/timeout.ts'
import type { Job } from '../database.ts'
import type { UnsettledHere } from '../index.ts'
import { isRead, type OpName, type ops } from '../operations.ts'
import { refusedFor } from './pool.ts'

/** The operation that reverts an operation which a caller may retry with the same code, token, proof or assertion. */
const UNDONE_BY = {
  rotateRefreshToken: 'undoRotateRefreshToken',
  redeemCode: 'undoRedeemCode',
  recordIssuance: 'undoRecordIssuance',
  recordExchange: 'undoRecordIssuance',
  recordRetry: 'undoRecordRetry',
  recordUse: 'undoRecordUse',
} as const satisfies Partial<Record<OpName, keyof typeof ops>>

/** Reads that decide whether something was used before. Other reads are not affected. */
const DECIDING: ReadonlySet<OpName> = new Set<OpName>(['findRefreshToken', 'findSuccessors', 'findCode'])
/** More than all connections can run at once, with full batches. */
const MOST = 10_000
/** How many operations are reverted concurrently. */
const TOGETHER = 8
/** Maximum time in milliseconds that an operation waits until the others are settled. */
const WAIT_MS = 2500

interface UnsettledOptions {
  perform(job: Job): Promise<unknown>
  /** The error for an operation that would have to wait, if it is to be refused. */
  refusal(): OAuthError | undefined
  /** Called when there is something to settle. */
  onNoted(): void
}

/** Operations of unknown outcome. */
export class Unsettled implements UnsettledHere {
  private readonly options: UnsettledOptions
  private readonly jobs = new Set<Job>()
  private waiting: (() => void)[] = []
  private tell: (isUnsettled: boolean) => Promise<unknown> = async () => {}
  /** The last state that was announced to the other threads, and the promise that all of them received it. */
  private reported = false
  private reporting: Promise<unknown> = Promise.resolve()
  private isElsewhere = false

  constructor(options: UnsettledOptions) {
    this.options = options
  }

  onChange(tell: (isUnsettled: boolean) => Promise<unknown>): void {
    this.tell = tell
  }

  setHeldElsewhere(isUnsettledElsewhere: boolean): void {
    this.isElsewhere = isUnsettledElsewhere
    if (!isUnsettledElsewhere) this.wake()
  }

  /** Stores an operation that may be retried. Resolves when every thread was notified. If there are too many, the oldest one is dropped. */
  async note({ op, input }: Job): Promise<void> {
    if (!(op in UNDONE_BY)) return
    const [oldest] = this.jobs
    if (oldest && this.jobs.size >= MOST) this.jobs.delete(oldest)
    this.jobs.add({ op, input })
    this.report()
    this.options.onNoted()
    await this.reporting
  }

  /** Whether an operation must wait until everything is settled. */
  concerns(op: OpName): boolean {
    return (this.jobs.size > 0 || this.isElsewhere) && (!isRead(op) || DECIDING.has(op))
  }

  /** Resolves when an operation may run. Rejects with 503 when that takes too long or is impossible. */
  async wait(op: OpName): Promise<void> {
    for (const untilMs = performance.now() + WAIT_MS; this.concerns(op); ) {
      const refused = this.options.refusal()
      if (refused) throw refused
      const leftMs = untilMs - performance.now()
      if (leftMs <= 0) throw refusedFor('an earlier operation is not settled yet')
      await withTimeout(leftMs, new Promise<void>((resolve) => this.waiting.push(resolve)))
    }
  }

  /** Reverts the stored operations. Rejects when the database cannot do that now. */
  async settle(): Promise<void> {
    try {
      for (let jobs = this.next(); jobs.length > 0; jobs = this.next())
        await Promise.all(
          jobs.map(async (job) => {
            await this.options.perform({ op: UNDONE_BY[job.op as keyof typeof UNDONE_BY], input: job.input })
            this.jobs.delete(job)
          }),
        )
    } finally {
      this.report()
      this.wake()
    }
  }

  private report(): void {
    const isUnsettled = this.jobs.size > 0
    if (isUnsettled === this.reported) return
    this.reported = isUnsettled
    this.reporting = this.tell(isUnsettled).catch(() => {})
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  private next = (): Job[] => [...this.jobs].slice(0, TOGETHER)
}
