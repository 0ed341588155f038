// The report of a run as JSON, for other programs. The schema has a version; a report of another version is refused.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../../src/lib/paths.ts'
import { type Sample, sampleSchema } from '../run/sample.ts'

/** The server name of the reference program that shows the current speed of the machine. */
export const YARDSTICK = 'yardstick'

export const SCHEMA_VERSION = 1

const figure = z.number().nullable()

const resultSchema = z.object({
  work: z.string(),
  server: z
    .string()
    .describe(
      'service, the name of a peer, or yardstick, which issues client_credentials tokens whatever the workload is.',
    ),
  store: z.enum(['sqlite', 'postgres', 'none']).describe('none: a peer, which has a store of its own.'),
  alg: z.enum(['ES256', 'RS256']),
  fill: z.number().describe('Issuances stored before the measurement.'),
  generator: z.string().describe('Load generator of the closed loop.'),
  rounds: z.array(sampleSchema).describe('Closed loop: the maximum rate, one sample per round.'),
  ladder: z.array(sampleSchema).describe('Open loop: samples at increasing rates.'),
  knee: sampleSchema.nullable().describe('The highest rate that met the objective.'),
  knee_at_least: z
    .string()
    .optional()
    .describe('Why the next higher rate failed, when the server was not the cause. The knee is then a lower bound.'),
  void_steps: z
    .array(sampleSchema)
    .optional()
    .describe(
      'Open loop: samples that do not count. They were disturbed by other programs or by a late load generator, or other samples at the same rate outvoted them.',
    ),
  failed: z.string().optional().describe('Why it could not be measured.'),
})
export type WorkResult = z.output<typeof resultSchema>

export const reportSchema = z
  .object({
    schema: z.literal(SCHEMA_VERSION),
    created_at: z.string(),
    seconds: z.number().describe('Duration of the run.'),
    partial: z.boolean().describe('The run was interrupted: missing results were not measured.'),
    version: z.string(),
    commit: z.string(),
    machine: z.object({
      cores: z.number(),
      model: z.string(),
      memory_gib: z.number(),
      os: z.string(),
      node: z.string(),
      openssl: z.string(),
      load_average: z.number().describe('Load average at the start of the run.'),
      tmpfs: z.boolean().describe('The database was in memory (tmpfs), where a commit costs nothing.'),
    }),
    settings: z.object({
      connections: z.number(),
      seconds: z.number(),
      warmup: z.number(),
      rounds: z.number(),
      slo_p99_ms: z.number(),
      smoke: z.boolean(),
      clients: z.number().optional().describe('Number of clients in rotation; 100 in reports without this member.'),
      callers: z.array(z.string()).describe('Names of the SERVICE_ variables that the caller set.'),
      versions: z.record(z.string(), z.string()).describe('Versions of load generators and peers.'),
    }),
    calibration: z
      .object({
        es256_sign_per_s: figure,
        es256_verify_per_s: figure,
        rs256_sign_per_s: figure,
        fsync_per_s: figure,
        http_per_s: figure,
        http_cpu_us: figure,
      })
      .describe('Speed of basic operations in the same run, to compare machines.'),
    speeds: z
      .array(z.number())
      .optional()
      .describe(
        'ES256 signatures per second on one core, before each workload and at the end: how much the machine itself varied.',
      ),
    results: z.array(resultSchema),
    plan_check: z
      .object({
        mix: z.string(),
        rate_per_s: z.number().describe('The rate that was planned for one instance, and measured.'),
        kept: z.boolean().describe('Whether the mix met the objective.'),
        p99_ms: figure,
        predicted_cpu_us: z.number().describe('Planned CPU time of a request at that rate.'),
        measured_cpu_us: figure,
        predicted_knee_per_s: z.number(),
        measured_knee_per_s: figure,
      })
      .optional()
      .describe('The plan of a mix, computed from its parts, and the measurement of the mix.'),
  })
  .describe('Report of service bench.')
export type Report = z.output<typeof reportSchema>

/** Folder of the reports in a checkout. */
export const resultsFolder = path.join(packageRoot, 'bench/results')

/** Reads a report. Throws when the file is not a report, or has another version. */
export function readReport(file: string): Report {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} is not a report: ${(error as Error).message}`)
  }
  const { success, data, error } = reportSchema.safeParse(json)
  if (!success) throw new Error(`${file} is not a report of schema ${SCHEMA_VERSION}: ${z.prettifyError(error)}`)
  return data
}

/** The knee of each workload of the service, with a database and an algorithm, in requests per second. Throws when the file is not a report. */
export function kneesOf(file: string, store: string, alg: string): Record<string, number> {
  const { results } = readReport(file)
  return Object.fromEntries(
    results.flatMap((result) =>
      result.server === 'service' && result.store === store && result.alg === alg && result.knee
        ? [[result.work, result.knee.per_s]]
        : [],
    ),
  )
}

/** The median round by rate; for an even number, the slower one of the two in the middle. */
export function middleRound({ rounds }: Pick<WorkResult, 'rounds'>): Sample | undefined {
  return rounds.toSorted((a, b) => a.per_s - b.per_s)[Math.ceil(rounds.length / 2) - 1]
}

/** The key by which results of two reports are compared. */
export const resultKey = ({ work, server, store, alg, fill }: WorkResult): string =>
  [work, server, store === 'none' ? '' : store, alg, fill ? `${fill} rows` : ''].filter(Boolean).join(' · ')
