// Resource usage of a server during a measurement, observed from outside: the difference of two snapshots.
import { databaseBytes } from '../../src/store/database.ts'
import { readUsage } from '../../src/store/postgres/usage.ts'
import {
  type ByRole,
  bytesWrittenBy,
  machineMicros,
  memoryMiB,
  processMicros,
  ROLES,
  threadMicros,
} from '../../src/telemetry/proc.ts'
import { callLoopback } from '../load/loopback.ts'
import { combineStages, readStages, type StageCounts } from './stages.ts'

/** The database of a measured service. */
export type BenchDatabase = { driver: 'sqlite'; file: string } | { driver: 'postgres'; dsn: string }

/** What to observe. For a peer, this is at most the process. */
export interface ProbePlan {
  /** Undefined for a server that was not started by the run. */
  pid?: number
  admin?: { base: string; key: string }
  database?: BenchDatabase
  /** Further instances, whose usage is added. */
  others?: readonly Pick<ProbePlan, 'pid' | 'admin'>[]
}
const instancesOf = (plan: ProbePlan) => [plan, ...(plan.others ?? [])]

export interface LaneUse {
  jobs: number
  batches: number
  busy_ms: number
  /** Writing transactions. With SQLite, each is one fsync. */
  commits: number
}
const NO_LANE: LaneUse = { jobs: 0, batches: 0, busy_ms: 0, commits: 0 }

/** Resource usage of some work. NaN for values that are not available. */
export interface Usage {
  /** Time between the snapshots: a little longer than the measurement. */
  seconds: number
  cpu_us: ByRole
  /** Time in which threads were ready to run and waited for a processor. */
  waited_us: ByRole
  /** Number of threads. */
  threads: ByRole
  /** CPU of the database server and of the load generator. */
  database_us: number
  generator_us: number
  /** Busy time of all processors, including this measurement. */
  machine_us: number
  written_bytes: number
  /** Growth of the database. */
  database_bytes: number
  /** Bytes written to the write-ahead log of PostgreSQL. */
  log_bytes: number
  fsyncs: number
  lanes: Record<string, LaneUse>
  stages: StageCounts
  /** Garbage collection pauses of the front thread. */
  gc: { count: number; seconds: number }
  /** MiB at the end, and the peak. */
  memory: { now: number; peak: number }
}

interface Snapshot extends Omit<Usage, 'cpu_us' | 'waited_us' | 'threads'> {
  threads: ReturnType<typeof threadMicros>
}

/** Starts a measurement. Resolves with the function that ends it and returns the usage. */
export async function beginUsage(plan: ProbePlan, generator?: () => number): Promise<() => Promise<Usage>> {
  const before = await snapshot(plan, generator, 'first')
  return async () => difference(before, await snapshot(plan, generator, 'last'))
}

/** The snapshot itself costs the server CPU time: the CPU time is read last before the work, and first after it. */
async function snapshot(
  plan: ProbePlan,
  generator: (() => number) | undefined,
  when: 'first' | 'last',
): Promise<Snapshot> {
  if (when === 'last') {
    const cpu = readCpu(plan, generator)
    return { ...(await ask(plan)), ...cpu }
  }
  const asked = await ask(plan)
  return { ...asked, ...readCpu(plan, generator) }
}

const readCpu = (plan: ProbePlan, generator?: () => number) => ({
  threads: new Map(instancesOf(plan).flatMap(({ pid }) => (pid ? [...threadMicros(pid)] : []))),
  written_bytes: total(instancesOf(plan), ({ pid }) => (pid ? bytesWrittenBy(pid) : Number.NaN)),
  generator_us: generator ? generator() : processMicros(process.pid),
  seconds: performance.now() / 1000,
  machine_us: machineMicros(),
})

async function ask(plan: ProbePlan) {
  const instances = instancesOf(plan)
  const [lanes, scrapes, stored] = await Promise.all([
    Promise.all(instances.map(({ admin }) => (admin ? readLanes(admin) : NO_LANES))),
    Promise.all(instances.map(({ admin }) => (admin ? scrape(admin) : NO_SCRAPE))),
    readDatabase(plan.database),
  ])
  const memories = instances.map(({ pid }) => (pid ? memoryMiB(pid) : { now: Number.NaN, peak: Number.NaN }))
  return {
    lanes: lanes.reduce((all, more) => combineLanes(all, more, 1)),
    stages: scrapes.map(({ stages }) => stages).reduce((all, more) => combineStages(more, all, 1)),
    gc: { count: total(scrapes, ({ gc }) => gc.count), seconds: total(scrapes, ({ gc }) => gc.seconds) },
    memory: { now: total(memories, ({ now }) => now), peak: total(memories, ({ peak }) => peak) },
    fsyncs: lanes[0]?.['store']?.commits ?? Number.NaN,
    ...stored,
  }
}

const NO_LANES: Usage['lanes'] = {}
const NO_SCRAPE = { stages: {}, gc: { count: Number.NaN, seconds: Number.NaN } }
const total = <T>(all: readonly T[], of: (each: T) => number) => all.reduce((sum, each) => sum + of(each), 0)

async function readLanes({ base, key }: { base: string; key: string }): Promise<Record<string, LaneUse>> {
  const response = await callLoopback(`${base}/admin/system/status`, { headers: { authorization: `Bearer ${key}` } })
  const { lanes } = (await response.json()) as { lanes: Record<string, Partial<LaneUse>> }
  return Object.fromEntries(Object.entries(lanes).map(([name, lane]) => [name, { ...NO_LANE, ...lane }]))
}

async function scrape({ base }: { base: string }): Promise<Pick<Usage, 'stages' | 'gc'>> {
  const text = await (await callLoopback(`${base}/metrics`)).text()
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^nodejs_gc_duration_seconds_${name}\\{[^}]*\\} ([\\d.e+-]+)$`, 'gm'))]
      .map(([, value]) => Number(value))
      .reduce((all, value) => all + value, 0)
  return { stages: readStages(text), gc: { count: sum('count'), seconds: sum('sum') } }
}

async function readDatabase(database: BenchDatabase | undefined) {
  if (!database) return { database_bytes: Number.NaN, log_bytes: Number.NaN, database_us: Number.NaN }
  if (database.driver === 'sqlite')
    return { database_bytes: databaseBytes(database.file), log_bytes: Number.NaN, database_us: 0 }
  const { bytes, logBytes, fsyncs, pids } = await readUsage(database.dsn)
  const database_us = pids.reduce((sum, pid) => sum + processMicros(pid), 0)
  return { database_bytes: bytes, log_bytes: logBytes, fsyncs, database_us }
}

function difference(before: Snapshot, after: Snapshot): Usage {
  const known = before.threads.size > 0 ? 0 : Number.NaN
  const [cpu_us, waited_us, threads] = [eachRole(known), eachRole(known), eachRole(0)]
  for (const [tid, { role, ...times }] of after.threads) {
    cpu_us[role] += times.us - (before.threads.get(tid)?.us ?? 0)
    waited_us[role] += times.waited_us - (before.threads.get(tid)?.waited_us ?? 0)
    threads[role]++
  }
  const minus = (name: Figure) => after[name] - before[name]
  return {
    seconds: minus('seconds'),
    cpu_us,
    waited_us,
    threads,
    database_us: minus('database_us'),
    generator_us: minus('generator_us'),
    machine_us: minus('machine_us'),
    written_bytes: minus('written_bytes'),
    database_bytes: minus('database_bytes'),
    log_bytes: minus('log_bytes'),
    fsyncs: minus('fsyncs'),
    lanes: combineLanes(after.lanes, before.lanes, -1),
    stages: combineStages(after.stages, before.stages, -1),
    gc: { count: after.gc.count - before.gc.count, seconds: after.gc.seconds - before.gc.seconds },
    memory: after.memory,
  }
}

const eachRole = (value: number) => Object.fromEntries(ROLES.map((role) => [role, value])) as ByRole
const sumOfRoles = (a: ByRole, b: ByRole) =>
  Object.fromEntries(ROLES.map((role) => [role, a[role] + b[role]])) as ByRole

const FIGURES = [
  'seconds',
  'database_us',
  'generator_us',
  'machine_us',
  'written_bytes',
  'database_bytes',
  'log_bytes',
  'fsyncs',
] as const
type Figure = (typeof FIGURES)[number]

const combine = (a: LaneUse, b: LaneUse, sign: 1 | -1): LaneUse => ({
  jobs: a.jobs + sign * b.jobs,
  batches: a.batches + sign * b.batches,
  busy_ms: a.busy_ms + sign * b.busy_ms,
  commits: a.commits + sign * b.commits,
})

const combineLanes = (a: Usage['lanes'], b: Usage['lanes'], sign: 1 | -1): Usage['lanes'] =>
  Object.fromEntries(Object.entries(a).map(([name, lane]) => [name, combine(lane, b[name] ?? NO_LANE, sign)]))

/** The sum of two usages. */
export function addUsage(a: Usage | undefined, b: Usage): Usage {
  if (!a) return b
  return {
    ...(Object.fromEntries(FIGURES.map((name) => [name, a[name] + b[name]])) as Pick<Usage, Figure>),
    cpu_us: sumOfRoles(a.cpu_us, b.cpu_us),
    waited_us: sumOfRoles(a.waited_us, b.waited_us),
    lanes: combineLanes(b.lanes, a.lanes, 1),
    stages: combineStages(b.stages, a.stages, 1),
    gc: { count: a.gc.count + b.gc.count, seconds: a.gc.seconds + b.gc.seconds },
    threads: b.threads,
    memory: b.memory,
  }
}
