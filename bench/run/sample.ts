// One measurement in a report: rates, latencies, and the cost of an answer in every part of the machine.
import { z } from 'zod'
import { CORES, ROLES, type Role } from '../../src/telemetry/proc.ts'
import type { LoadTally } from '../load/loops.ts'
import { percentilesOf } from '../statistics.ts'
import type { Usage } from './probe.ts'
import { stageTimes } from './stages.ts'

/** A value that is null when this machine, or the server, does not provide it. */
const figure = z.number().nullable()
/** NaN and infinity as null, as in JSON, so that `??` works. */
const known = (value: number | null): number | null => (Number.isFinite(value) ? value : null)
const byRole = z.object({ front: figure, crypto: figure, store: figure, password: figure, other: figure })

export const sampleSchema = z.object({
  loop: z.enum(['closed', 'open']),
  offered_per_s: figure.describe('Open loop: requests per second that were due.'),
  seconds: z.number().describe('Measured time.'),
  answers: z.number().describe('Expected answers.'),
  errors: z.number().describe('Unexpected answers, broken connections, and due requests that were not sent.'),
  first_error: z.string().optional(),
  per_s: z.number().describe('Expected answers per second.'),
  latency_ms: z.object({ p50: figure, p95: figure, p99: figure, p999: figure, max: figure }),
  late_ms: figure.describe('Open loop: p99 of the lateness of the load generator itself.'),
  cpu_us: byRole.extend({ total: figure, database: figure }).describe('CPU time of the server per answer, by thread.'),
  busy: byRole
    .extend({ database: figure, generator: figure, machine: figure, foreign: figure })
    .describe(
      'Processors in use. machine: all processors that were not idle, including time that other virtual machines took; at least the sum of the parts, when clocks disagree. foreign: the part of machine that belongs to no part of the measurement, and kernel work that is not charged to a thread; 0 when it is below the disagreement of the clocks.',
    ),
  waiting: byRole
    .optional()
    .describe(
      'Threads that were ready to run and waited for a processor, on average. A thread that waits while it works slows down because of the processors, not because it is full.',
    ),
  threads: byRole.describe('Number of threads of the server.'),
  lanes: z
    .record(z.string(), z.object({ batch: figure, busy: figure }))
    .describe('Average jobs per batch, and average number of busy workers, by queue.'),
  stages: z
    .record(z.string(), z.object({ p50: figure, p99: figure }))
    .optional()
    .describe(
      'Milliseconds of each stage of the batches of a queue: waiting, working, and the way there and back (crossing).',
    ),
  written_bytes: figure.describe('Bytes that the server wrote to storage, per answer.'),
  database_bytes: figure.describe('Growth of the database, per answer.'),
  log_bytes: figure.describe('Bytes written to the write-ahead log of PostgreSQL, per answer.'),
  fsyncs: figure.describe('fsync calls per answer.'),
  gc: z
    .object({ share: figure, pause_ms: figure })
    .describe('Garbage collection of the front thread: share of the time, and mean pause.'),
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

/** The counts of a built-in loop. */
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

/** Combines counts and resource usage into a sample. */
export function sampleOf(count: Counted, usage: Usage): Sample {
  const { seconds, answers } = count
  const { p50, p95, p99, p999, max } = count.latency_ms
  const each = (total: number) => known(total / answers)
  const cores = (us: number) => known(us / 1e6 / usage.seconds)
  const roles = <R>(of: (role: Role) => R) =>
    Object.fromEntries(ROLES.map((role) => [role, of(role)])) as Record<Role, R>
  const total = ROLES.reduce((sum, role) => sum + usage.cpu_us[role], 0)
  const parts = total + usage.generator_us + (usage.database_us || 0)
  // The clocks of threads and of the machine differ: the machine used at least the sum of its parts. Unknown parts do not count.
  const machine = Math.max(usage.machine_us, Number.isNaN(parts) ? 0 : parts)
  const busy = {
    ...roles((role) => cores(usage.cpu_us[role])),
    database: cores(usage.database_us),
    generator: cores(usage.generator_us),
    machine: cores(machine),
    foreign: cores(machine - parts),
  }
  const waiting = roles((role) => cores(usage.waited_us[role]))
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
    waiting,
    threads: usage.threads,
    lanes,
    stages: stageTimes(usage.stages),
    written_bytes: each(usage.written_bytes),
    database_bytes: each(usage.database_bytes),
    log_bytes: each(usage.log_bytes),
    fsyncs: each(usage.fsyncs),
    gc: { share: known(usage.gc.seconds / usage.seconds), pause_ms: known((usage.gc.seconds * 1000) / usage.gc.count) },
    memory_mib: { now: known(usage.memory.now), peak: known(usage.memory.peak) },
    bottleneck: bottleneckOf({ loop: count.loop, busy, waiting, threads: usage.threads, lanes }),
  }
}

/** Utilisation above which a part limits the rate. */
const SATURATED = 0.85
const MACHINE_FULL = 0.93
/** Share of the machine used by other programs above which it is reported, and above which they limit the rate. */
export const FOREIGN = { said: 0.1, decides: 0.25 } as const
/** Maximum rows of one commit of the storage thread. Above half of it, the disk limits the rate. */
export const MOST_ROWS = 256

type Measured = Pick<Sample, 'loop' | 'busy' | 'waiting' | 'threads' | 'lanes'>
/** A part of the machine: the share of the time in which it works, and in which it waits for a processor. */
interface LoadedPart {
  name: string
  works: number
  waits: number
}

function loadedParts({ busy, waiting, threads, lanes }: Measured, cores: number): LoadedPart[] {
  const shareOf = (role: Role, of: Sample['waiting']) => (of?.[role] ?? 0) / Math.max(1, threads[role] ?? 1)
  const thread = (name: string, role: Role) => ({ name, works: shareOf(role, busy), waits: shareOf(role, waiting) })
  const { batch = 0, busy: storing = 0 } = lanes['store'] ?? {}
  const isDiskFull = (threads.store ?? 0) > 0 && (batch ?? 0) > MOST_ROWS / 2
  return [
    thread('the front thread', 'front'),
    thread(`the crypto thread${(threads.crypto ?? 0) > 1 ? 's' : ''}`, 'crypto'),
    thread('the password threads', 'password'),
    thread('the storage thread', 'store'),
    // Requests share commits: a storage queue that is always busy is saturated only when its batches are full.
    { name: 'the disk', works: isDiskFull ? (storing ?? 0) : 0, waits: 0 },
    { name: 'the database server', works: (busy.database ?? 0) / cores, waits: 0 },
    { name: 'the load generator', works: busy.generator ?? 0, waits: 0 },
  ]
}

const percent = (share: number) => `${Math.round(100 * share)} %`

/** The part that limits the rate, in words. `cores` is the number of processors of the machine. */
export function bottleneckOf(measured: Measured, cores = CORES): string {
  const { loop, busy } = measured
  const foreign = busy.foreign ?? 0
  if (busy.front === null) return 'unknown: the server shows no thread times'
  const used = ({ works, waits }: LoadedPart) => works + waits
  const most = loadedParts(measured, cores).reduce((a, b) => (used(b) > used(a) ? b : a))
  const { name, works, waits } = most
  if (foreign > FOREIGN.decides * cores)
    return `other programs on this machine, which used ${foreign.toFixed(1)} of its ${cores} processors`
  if ((busy.machine ?? 0) >= MACHINE_FULL * cores) return `the processors: all ${cores} are busy, mostly with ${name}`
  if (works >= SATURATED) return name
  if (used(most) >= SATURATED)
    return `the processors: ${name} works for ${percent(works)} of the time, and waits for a processor for ${percent(waits)}`
  const busiest = `the busiest part is ${name}, for ${percent(used(most))} of the time`
  return loop === 'open' ? `no part: ${busiest}` : `the number of connections: ${busiest}`
}
