// Operations that may have been committed although their caller was told to try again. They are taken back before the retry is let
// in, whichever thread of this process it comes to. They are kept in memory: after a crash of this process nobody knows of them.
import type { OAuthError } from '../lib/error.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Job } from './database.ts'
import type { UnsettledHere } from './index.ts'
import { isRead, type OpName, type ops } from './operations.ts'
import { refusedFor } from './postgres_pool.ts'

/** What takes back an operation that a caller repeats with the same code, token, proof or assertion. */
const UNDONE_BY = {
  rotateRefreshToken: 'undoRotateRefreshToken',
  redeemCode: 'undoRedeemCode',
  recordIssuance: 'undoRecordIssuance',
  recordExchange: 'undoRecordIssuance',
  recordRetry: 'undoRecordRetry',
  recordUse: 'undoRecordUse',
} as const satisfies Partial<Record<OpName, keyof typeof ops>>

/** Reads that decide whether something was used before; what else is read stays true. */
const DECIDING: ReadonlySet<OpName> = new Set<OpName>(['findRefreshToken', 'findSuccessors', 'findCode'])
/** More than all connections can carry at once, group by group. */
const MOST = 10_000
/** How many are taken back at once. */
const TOGETHER = 8
/** Most milliseconds that an operation waits for others to be settled. */
const WAIT_MS = 2500

interface UnsettledOptions {
  perform(job: Job): Promise<unknown>
  /** The refusal of an operation that would have to wait. */
  refusal(): OAuthError | undefined
  /** Called when there is something to settle. */
  onNoted(): void
}

/** Operations of unknown outcome. */
export class Unsettled implements UnsettledHere {
  readonly #options: UnsettledOptions
  readonly #jobs = new Set<Job>()
  #waiting: (() => void)[] = []
  #tell: (isUnsettled: boolean) => Promise<unknown> = async () => {}
  /** What the other threads were told last, and when they all know it. */
  #said = false
  #told: Promise<unknown> = Promise.resolve()
  #isElsewhere = false

  constructor(options: UnsettledOptions) {
    this.#options = options
  }

  onChange(tell: (isUnsettled: boolean) => Promise<unknown>): void {
    this.#tell = tell
  }

  setHeldElsewhere(isUnsettledElsewhere: boolean): void {
    this.#isElsewhere = isUnsettledElsewhere
    if (!isUnsettledElsewhere) this.#wake()
  }

  /** Notes an operation, if it is one that is repeated, and resolves when every thread knows. When there are too many the oldest is forgotten. */
  async note({ op, input }: Job): Promise<void> {
    if (!(op in UNDONE_BY)) return
    const [oldest] = this.#jobs
    if (oldest && this.#jobs.size >= MOST) this.#jobs.delete(oldest)
    this.#jobs.add({ op, input })
    this.#say()
    this.#options.onNoted()
    await this.#told
  }

  /** Whether an operation must wait until everything is settled. */
  concerns(op: OpName): boolean {
    return (this.#jobs.size > 0 || this.#isElsewhere) && (!isRead(op) || DECIDING.has(op))
  }

  /** Resolves when an operation need not wait. Rejects with 503 when that cannot be, or not soon. */
  async wait(op: OpName): Promise<void> {
    for (const untilMs = performance.now() + WAIT_MS; this.concerns(op); ) {
      const refused = this.#options.refusal()
      if (refused) throw refused
      const leftMs = untilMs - performance.now()
      if (leftMs <= 0) throw refusedFor('an earlier operation is not settled yet')
      await withTimeout(leftMs, new Promise<void>((resolve) => this.#waiting.push(resolve)))
    }
  }

  /** Takes back what was noted. Rejects when the database cannot do that now. */
  async settle(): Promise<void> {
    try {
      for (let jobs = this.#next(); jobs.length > 0; jobs = this.#next())
        await Promise.all(
          jobs.map(async (job) => {
            await this.#options.perform({ op: UNDONE_BY[job.op as keyof typeof UNDONE_BY], input: job.input })
            this.#jobs.delete(job)
          }),
        )
    } finally {
      this.#say()
      this.#wake()
    }
  }

  #say(): void {
    const isUnsettled = this.#jobs.size > 0
    if (isUnsettled === this.#said) return
    this.#said = isUnsettled
    this.#told = this.#tell(isUnsettled).catch(() => {})
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #next = (): Job[] => [...this.#jobs].slice(0, TOGETHER)
}
