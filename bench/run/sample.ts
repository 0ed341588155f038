// One measurement as it stands in a report: rates, latencies, and what an answer cost in every part of the machine.
import { z } from 'zod'
import { CORES, ROLES, type Role } from '../../src/telemetry/proc.ts'
import type { LoadTally } from '../load/loops.ts'
import { percentilesOf } from '../statistics.ts'
import type { Usage } from './probe.ts'

/** A figure that may not be had on this machine, or of this server. */
const figure = z.number().nullable()
/** As a sample holds it: no figure is null in memory as in JSON, so that `??` finds it. */
const known = (value: number | null): number | null => (Number.isFinite(value) ? value : null)
const byRole = z.object({ front: figure, crypto: figure, store: figure, password: figure, other: figure })

export const sampleSchema = z.object({
  loop: z.enum(['closed', 'open']),
  offered_per_s: figure.describe('Open loop: requests a second that were due.'),
  seconds: z.number().describe('Measured time.'),
  answers: z.number().describe('Expected answers.'),
  errors: z.number().describe('Everything else: other answers, broken connections, requests that nobody took.'),
  first_error: z.string().optional(),
  per_s: z.number().describe('Expected answers a second.'),
  latency_ms: z.object({ p50: figure, p95: figure, p99: figure, p999: figure, max: figure }),
  late_ms: figure.describe('Open loop: p99 of how late the load generator itself was.'),
  cpu_us: byRole.extend({ total: figure, database: figure }).describe('CPU of the server for one answer, by thread.'),
  busy: byRole
    .extend({ database: figure, generator: figure, machine: figure, foreign: figure })
    .describe(
      'Processors in use. machine: time in which processors did not rest, of other virtual machines too where they kept them; where clocks disagree, at least the sum of the parts. foreign: what is in machine and in no part, so what has nothing to do with the measurement, and work of the kernel that no thread is charged with; 0 where it is less than the clocks disagree by.',
    ),
  threads: byRole.describe('Threads of the server.'),
  lanes: z
    .record(z.string(), z.object({ batch: figure, busy: figure }))
    .describe('Jobs in a batch, and the workers that were busy on average.'),
  written_bytes: figure.describe('Written to storage by the server, for one answer.'),
  database_bytes: figure.describe('Growth of the database, for one answer.'),
  log_bytes: figure.describe('Written to the log of PostgreSQL, for one answer.'),
  fsyncs: figure.describe('Of one answer.'),
  gc: z
    .object({ share: figure, pause_ms: figure })
    .describe('Garbage collection of the front thread: share of the time, mean pause.'),
  memory_mib: z.object({ now: figure, peak: figure }),
  bottleneck: z.string(),
})
export type Sample = z.output<typeof sampleSchema>

export interface Counted {
  loop: Sample['loop']
  offered_per_s?: number
  seconds: number
  answers: number
  errors: number
  first_error?: string
  latency_ms: Sample['latency_ms']
  late_ms?: number
}

/** What a tally of one of our own loops says. */
export const counted = (
  { latency, errors, firstError, seconds, lateness }: LoadTally,
  offered_per_s?: number,
): Counted => ({
  loop: offered_per_s === undefined ? 'closed' : 'open',
  offered_per_s,
  seconds,
  answers: latency.count,
  errors,
  first_error: firstError,
  latency_ms: percentilesOf(latency),
  late_ms: lateness.quantile(0.99),
})

/** Puts what was counted and what it cost together. */
export function sampleOf(count: Counted, usage: Usage): Sample {
  const { seconds, answers } = count
  const { p50, p95, p99, p999, max } = count.latency_ms
  const each = (total: number) => known(total / answers)
  const cores = (us: number) => known(us / 1e6 / usage.seconds)
  const roles = <R>(of: (role: Role) => R) =>
    Object.fromEntries(ROLES.map((role) => [role, of(role)])) as Record<Role, R>
  const total = ROLES.reduce((sum, role) => sum + usage.cpu_us[role], 0)
  const parts = total + usage.generator_us + (usage.database_us || 0)
  // The clocks of threads and of the machine are not the same: what its parts used, the machine did. Unknown parts prove nothing.
  const machine = Math.max(usage.machine_us, Number.isNaN(parts) ? 0 : parts)
  const busy = {
    ...roles((role) => cores(usage.cpu_us[role])),
    database: cores(usage.database_us),
    generator: cores(usage.generator_us),
    machine: cores(machine),
    foreign: cores(machine - parts),
  }
  const lanes = Object.fromEntries(
    Object.entries(usage.lanes).map(([name, { jobs, batches, busy_ms }]) => [
      name,
      { batch: known(jobs / batches), busy: known(busy_ms / 1000 / usage.seconds) },
    ]),
  )
  return {
    ...count,
    latency_ms: { p50: known(p50), p95: known(p95), p99: known(p99), p999: known(p999), max: known(max) },
    offered_per_s: count.offered_per_s ?? null,
    late_ms: known(count.late_ms ?? null),
    per_s: answers / seconds,
    cpu_us: { ...roles((role) => each(usage.cpu_us[role])), total: each(total), database: each(usage.database_us) },
    busy,
    threads: usage.threads,
    lanes,
    written_bytes: each(usage.written_bytes),
    database_bytes: each(usage.database_bytes),
    log_bytes: each(usage.log_bytes),
    fsyncs: each(usage.fsyncs),
    gc: { share: known(usage.gc.seconds / usage.seconds), pause_ms: known((usage.gc.seconds * 1000) / usage.gc.count) },
    memory_mib: { now: known(usage.memory.now), peak: known(usage.memory.peak) },
    bottleneck: bottleneckOf({ busy, threads: usage.threads, lanes }),
  }
}

/** Above this share of its time a part is what limits the rate. */
const SATURATED = 0.85
const MACHINE_FULL = 0.93
/** Share of the machine that others may use before it is said, and above which it is they that limit the rate. */
export const FOREIGN = { said: 0.1, decides: 0.25 } as const
/** Rows that the storage thread commits together at most; at half of it the disk cannot be hidden any more. */
export const MOST_ROWS = 256

/** The part that limits the rate, in words. `cores` are those of the machine. */
export function bottleneckOf(
  { busy, threads, lanes }: Pick<Sample, 'busy' | 'threads' | 'lanes'>,
  cores = CORES,
): string {
  const share = (role: Role) => (busy[role] ?? 0) / Math.max(1, threads[role] ?? 1)
  const { batch = 0, busy: storing = 0 } = lanes['store'] ?? {}
  const foreign = busy.foreign ?? 0
  if (busy.front === null) return 'not to be seen from outside'
  const parts: [string, number][] = [
    ['the front thread', share('front')],
    [`the crypto thread${(threads.crypto ?? 0) > 1 ? 's' : ''}`, share('crypto')],
    ['the password threads', share('password')],
    ['the storage thread', share('store')],
    // Commits are shared: a storage lane that is always under way is at its end only when its batches are full.
    ['the disk', (threads.store ?? 0) > 0 && (batch ?? 0) > MOST_ROWS / 2 ? (storing ?? 0) : 0],
    ['the database server', (busy.database ?? 0) / cores],
    ['the load generator', busy.generator ?? 0],
  ]
  const [name, most] = parts.reduce((a, b) => (b[1] > a[1] ? b : a))
  if (foreign > FOREIGN.decides * cores)
    return `others on this machine, who used ${foreign.toFixed(1)} of its ${cores} processors`
  if ((busy.machine ?? 0) >= MACHINE_FULL * cores) return `all ${cores} processors are busy, most of all ${name}`
  return most >= SATURATED ? name : 'nothing is saturated: it waits for round trips'
}
