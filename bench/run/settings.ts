// The settings of a run.
import type { Env } from '../../src/config/env.ts'
import type { Generator } from '../load/load.ts'
import type { ForeignPeer } from '../peers/peers.ts'
import type { Mix } from './scenarios.ts'
import type { ServerShape } from './shapes.ts'

export const STORES = ['sqlite', 'postgres'] as const
export const ALGS = ['ES256', 'RS256'] as const
export type StoreName = (typeof STORES)[number]
export type AlgName = (typeof ALGS)[number]

export interface Settings {
  scenarios: readonly string[]
  /** A mix, measured with its parts and compared with its plan. */
  mix?: Mix
  connections: number
  /** Number of clients in rotation. */
  clients: number
  /** Duration of each measurement. */
  seconds: number
  warmup: number
  rounds: number
  generator: Generator
  cold: boolean
  stores: readonly StoreName[]
  /** Number of instances. Several are measured in addition to a single one. */
  instances: number
  /** Processors and front threads of services that are measured beside each other. Default: one service without limits. */
  shapes?: readonly ServerShape[]
  algs: readonly AlgName[]
  /** Issuances stored before the measurement. */
  fills: readonly number[]
  /** Latency objective: p99 in milliseconds. */
  sloMs: number
  /** Whether the knee is measured. */
  open: boolean
  /** Whether oidc-provider is measured too, when it is installed. */
  peer: boolean
  peers: readonly ForeignPeer[]
  /** Whether each workload is measured in alternation with the yardstick. */
  yardstick: boolean
  /** DSN of a PostgreSQL server on loopback, in which a temporary database is created. */
  postgres?: string
  /** A file or DSN to use in place of a temporary database. It keeps the data of the run. */
  database?: string
  /** The run ends after this time, with the results so far. */
  maxMinutes: number
  smoke: boolean
  env: Env
}
/** The scenario `postgres`: the workloads, and the number of instances that share the database. */
export const SHARED = { name: 'postgres', works: ['client_credentials', 'refresh_token'], instances: 2 }
export const COLD_CLIENTS = 20_000
