// A report: everything that a run measured, in a form that other programs read. The schema has a version; readers refuse others.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { packageRoot } from '../../src/lib/paths.ts'
import { type Sample, sampleSchema } from '../run/sample.ts'

/** What is measured beside a work to know how fast the machine is just then. */
export const YARDSTICK = 'yardstick'

export const SCHEMA_VERSION = 1

const figure = z.number().nullable()

const resultSchema = z.object({
  work: z.string(),
  server: z.string().describe('service, the name of a peer, or yardstick: machine tokens beside whatever the work is.'),
  store: z.enum(['sqlite', 'postgres', 'none']).describe('none: a peer, whose store is its own business.'),
  alg: z.enum(['ES256', 'RS256']),
  fill: z.number().describe('Issuances that were in the database before.'),
  generator: z.string().describe('Of the closed loop.'),
  rounds: z.array(sampleSchema).describe('Closed loop: the ceiling, once a round.'),
  ladder: z.array(sampleSchema).describe('Open loop: rising rates.'),
  knee: sampleSchema.nullable().describe('The highest rate that kept the objective.'),
  knee_at_least: z
    .string()
    .optional()
    .describe(
      'What was with the next higher rate, where it was not the server that failed: the knee is a lower bound.',
    ),
  void_steps: z
    .array(sampleSchema)
    .optional()
    .describe(
      'Open loop: steps that others on the machine or a late load generator spoilt, and that were taken again.',
    ),
  failed: z.string().optional().describe('Why it could not be measured.'),
})
export type WorkResult = z.output<typeof resultSchema>

export const reportSchema = z
  .object({
    schema: z.literal(SCHEMA_VERSION),
    created_at: z.string(),
    seconds: z.number().describe('How long the run took.'),
    partial: z.boolean().describe('It was interrupted: what is missing was not measured.'),
    version: z.string(),
    commit: z.string(),
    machine: z.object({
      cores: z.number(),
      model: z.string(),
      memory_gib: z.number(),
      os: z.string(),
      node: z.string(),
      openssl: z.string(),
      load_average: z.number().describe('At the start.'),
      tmpfs: z.boolean().describe('The database was in memory: commits cost nothing.'),
    }),
    settings: z.object({
      connections: z.number(),
      seconds: z.number(),
      warmup: z.number(),
      rounds: z.number(),
      slo_p99_ms: z.number(),
      smoke: z.boolean(),
      clients: z.number().optional().describe('Machine clients in rotation; 100 in older reports.'),
      callers: z.array(z.string()).describe('Names of the SERVICE_ variables that the caller set.'),
      versions: z.record(z.string(), z.string()).describe('Of generators and peers.'),
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
      .describe('What the machine does in the same run, so that machines can be compared by ratios.'),
    results: z.array(resultSchema),
    plan_check: z
      .object({
        mix: z.string(),
        rate_per_s: z.number().describe('What was planned for one instance, and run.'),
        kept: z.boolean().describe('Whether it kept the objective.'),
        p99_ms: figure,
        predicted_cpu_us: z.number().describe('CPU of a request at that rate.'),
        measured_cpu_us: figure,
        predicted_knee_per_s: z.number(),
        measured_knee_per_s: figure,
      })
      .optional()
      .describe('What the planner said of a mix from its parts, and what the mix did.'),
  })
  .describe('Report of service bench.')
export type Report = z.output<typeof reportSchema>

/** Where a checkout keeps its history. */
export const resultsFolder = path.join(packageRoot, 'bench/results')

/** Reads a report. Throws when the file is none, or of another version. */
export function readReport(file: string): Report {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} is no report: ${(error as Error).message}`)
  }
  const { success, data, error } = reportSchema.safeParse(json)
  if (!success) throw new Error(`${file} is no report of schema ${SCHEMA_VERSION}: ${z.prettifyError(error)}`)
  return data
}

/** Requests a second that each work of the service kept, with a database and an algorithm. Throws when the file is no report. */
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

/** The round in the middle by its rate; of an even number the slower one of the two in the middle. */
export function middleRound({ rounds }: Pick<WorkResult, 'rounds'>): Sample | undefined {
  return rounds.toSorted((a, b) => a.per_s - b.per_s)[Math.ceil(rounds.length / 2) - 1]
}

/** What tells results of different reports apart. */
export const resultKey = ({ work, server, store, alg, fill }: WorkResult): string =>
  [work, server, store === 'none' ? '' : store, alg, fill ? `${fill} rows` : ''].filter(Boolean).join(' · ')
