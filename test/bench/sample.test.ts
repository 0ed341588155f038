import { expect, test } from 'vitest'
import type { Usage } from '../../bench/run/probe.ts'
import { bottleneckOf, sampleOf, sampleSchema } from '../../bench/run/sample.ts'

type Busy = Parameters<typeof bottleneckOf>[0]['busy']
const idle: Busy = {
  front: 0.1,
  crypto: 0.1,
  store: 0.1,
  password: 0,
  other: 0,
  database: 0,
  generator: 0.1,
  machine: 0.4,
  foreign: 0,
}
const threads = { front: 1, crypto: 2, store: 1, password: 0, other: 4 }
const waiting = { front: 0, crypto: 0, store: 0, password: 0, other: 0 }
const limitOf = (
  busy: Partial<Busy>,
  batch = 4,
  waits: Partial<typeof waiting> = {},
  loop: 'closed' | 'open' = 'closed',
) =>
  bottleneckOf(
    {
      loop,
      busy: { ...idle, ...busy },
      waiting: { ...waiting, ...waits },
      threads,
      lanes: { store: { batch, busy: 1 } },
    },
    8,
  )

test.each([
  ['the front thread', { front: 0.97, machine: 3 }],
  ['the crypto threads', { crypto: 1.9, machine: 3 }],
  ['the storage thread', { store: 0.9, machine: 3 }],
  ['the load generator', { generator: 0.99, machine: 3 }],
])('%s limits the rate when it has no time left', (name, busy) => {
  expect(limitOf(busy)).toBe(name)
})

test('two crypto threads at half their time are not saturated', () => {
  expect(limitOf({ crypto: 1 })).toBe(
    'the number of connections: the busiest part is the crypto threads, for 50 % of the time',
  )
})

test('a thread that is ready to run and waits for a processor is limited by the processors', () => {
  expect(limitOf({ front: 0.6 }, 4, { front: 0.3 })).toBe(
    'the processors: the front thread works for 60 % of the time, and waits for a processor for 30 %',
  )
  expect(limitOf({ front: 0.9 }, 4, { front: 0.05 })).toBe('the front thread')
})

test('at a fixed rate, a part with time left is not a limit', () => {
  expect(limitOf({ front: 0.4 }, 4, {}, 'open')).toBe(
    'no part: the busiest part is the front thread, for 40 % of the time',
  )
})

test('a storage lane with a batch always in flight is saturated only when its batches are full', () => {
  expect(limitOf({}, 4)).toContain('the number of connections')
  expect(limitOf({}, 250)).toBe('the disk')
})

test('a saturated machine is reported with the processes that use it', () => {
  expect(limitOf({ front: 0.7, machine: 7.9 })).toBe('the processors: all 8 are busy, mostly with the front thread')
})

test('load of other processes is not reported as a limit of the service', () => {
  expect(limitOf({ front: 0.97, machine: 8, foreign: 4 })).toContain('other programs on this machine')
})

const none = Number.NaN
const roles = (us: number) => ({ front: us, crypto: 0, store: 0, password: 0, other: 0 })
/** Ten seconds of a service with SQLite: 8 s of the front thread, 2 s of the generator. */
const usage: Usage = {
  seconds: 10,
  cpu_us: roles(8e6),
  waited_us: roles(1e6),
  threads: roles(1),
  database_us: 0,
  generator_us: 2e6,
  machine_us: 12e6,
  written_bytes: 6_205_000,
  database_bytes: 300_000,
  log_bytes: none,
  fsyncs: 10,
  lanes: { store: { jobs: 0, batches: 0, busy_ms: 0, commits: 0 } },
  stages: {},
  gc: { count: 0, seconds: 0 },
  memory: { now: 100, peak: 120 },
}
const count = {
  loop: 'closed' as const,
  seconds: 10,
  answers: 1000,
  errors: 0,
  latency_ms: { p50: 1, p95: 2, p99: 3, p999: 4, max: 5 },
}

test('a value without a figure is null in memory as in JSON, so that the next best one is used', () => {
  const sample = sampleOf(count, usage)
  expect(sample).toEqual(sampleSchema.parse(JSON.parse(JSON.stringify(sample))))
  expect(sample.log_bytes ?? sample.written_bytes).toBe(6205)
  // A peer that was started elsewhere and has not answered: almost nothing is known of it.
  const empty = { ...count, answers: 0, latency_ms: { p50: none, p95: none, p99: none, p999: none, max: none } }
  const unseen = {
    ...usage,
    cpu_us: roles(none),
    waited_us: roles(none),
    gc: { count: none, seconds: none },
    memory: { now: none, peak: none },
  }
  const unknown = sampleOf(empty, unseen)
  expect(unknown).toEqual(sampleSchema.parse(JSON.parse(JSON.stringify(unknown))))
  expect(unknown.gc.share).toBeNull()
  expect(unknown.bottleneck).toBe('unknown: the server shows no thread times')
})

test('a machine used at least the CPU of its known processes; the remainder was used by others', () => {
  expect(sampleOf(count, usage).waiting).toMatchObject({ front: 0.1, crypto: 0 })
  expect(sampleOf(count, usage).busy).toMatchObject({ front: 0.8, generator: 0.2, machine: 1.2, foreign: 0.2 })
  expect(sampleOf(count, { ...usage, machine_us: 9e6 }).busy).toMatchObject({ machine: 1, foreign: 0 })
  expect(sampleOf(count, { ...usage, machine_us: 9e6, database_us: 1e6 }).busy).toMatchObject({ machine: 1.1 })
  // For a server that cannot be observed, the load of other processes is unknown.
  const unseen = { ...usage, cpu_us: roles(none) }
  expect(sampleOf(count, unseen).busy).toMatchObject({ front: null, machine: 1.2, foreign: null })
})
