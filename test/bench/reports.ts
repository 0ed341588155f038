// Reports as a run would write them, with figures that can be checked by hand.
import type { Report, WorkResult } from '../../bench/report/report.ts'
import { SCHEMA_VERSION } from '../../bench/report/report.ts'
import type { Sample } from '../../bench/run/sample.ts'

export interface Figures {
  per_s: number
  p99?: number
  errors?: number
  offered?: number
  front?: number
  crypto?: number
  store?: number
  bytes?: number
  /** Processors that other programs used. */
  foreign?: number
}

/** A measurement on two processors. CPU is microseconds of an answer. */
export function sampleWith({
  per_s,
  p99 = 5,
  errors = 0,
  offered,
  front = 40,
  crypto = 30,
  store = 10,
  bytes = 250,
  foreign = 0,
}: Figures): Sample {
  const cores = (us: number) => (per_s * us) / 1e6
  return {
    loop: offered === undefined ? 'closed' : 'open',
    offered_per_s: offered ?? null,
    seconds: 10,
    answers: per_s * 10,
    errors,
    per_s,
    latency_ms: { p50: p99 / 3, p95: p99 / 2, p99, p999: p99 * 2, max: p99 * 3 },
    late_ms: 1,
    cpu_us: { front, crypto, store, password: 0, other: 0, total: front + crypto + store, database: 0 },
    busy: {
      front: cores(front),
      crypto: cores(crypto),
      store: cores(store),
      password: 0,
      other: 0,
      database: 0,
      generator: 0.3,
      machine: cores(front + crypto + store) + 0.3 + foreign,
      foreign,
    },
    waiting: { front: 0, crypto: 0, store: 0, password: 0, other: 0 },
    threads: { front: 1, crypto: 1, store: 1, password: 0, other: 6 },
    lanes: { store: { batch: 20, busy: 0.9 } },
    written_bytes: 1000,
    database_bytes: bytes,
    log_bytes: null,
    fsyncs: 0.05,
    gc: { share: 0.01, pause_ms: 1 },
    memory_mib: { now: 150, peak: 200 },
    bottleneck: 'the front thread',
  }
}

/** A result of the service with SQLite; `knees` are rates that kept the objective. */
export function resultWith(
  work: string,
  rounds: Figures[],
  knees: Figures[] = [],
  more: Partial<WorkResult> = {},
): WorkResult {
  const ladder = knees.map((figures) => sampleWith({ offered: figures.per_s, ...figures }))
  return {
    work,
    server: 'service',
    store: 'sqlite',
    alg: 'ES256',
    fill: 0,
    generator: 'own',
    rounds: rounds.map(sampleWith),
    ladder,
    knee: ladder.findLast(({ latency_ms, errors }) => errors === 0 && (latency_ms.p99 ?? 0) <= 25) ?? null,
    ...more,
  }
}

/** A report of a quiet machine with two processors. */
export const reportWith = (results: WorkResult[], more: Partial<Report> = {}): Report => ({
  schema: SCHEMA_VERSION,
  created_at: '2026-11-21T10:00:00.000Z',
  seconds: 60,
  partial: false,
  version: '0.2.0',
  commit: 'abc',
  machine: {
    cores: 2,
    model: 'Test',
    memory_gib: 8,
    os: 'linux',
    node: '20',
    openssl: '3',
    load_average: 0,
    tmpfs: false,
  },
  settings: {
    connections: 64,
    seconds: 10,
    warmup: 2,
    rounds: 2,
    slo_p99_ms: 25,
    smoke: false,
    callers: [],
    versions: {},
  },
  calibration: {
    es256_sign_per_s: 40_000,
    es256_verify_per_s: 20_000,
    rs256_sign_per_s: 5000,
    fsync_per_s: 1000,
    http_per_s: 100_000,
    http_cpu_us: 6,
  },
  results,
  ...more,
})
