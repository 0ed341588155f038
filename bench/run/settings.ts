// What a run is told to do.
import type { Env } from '../../src/config/env.ts'
import type { Generator } from '../load/load.ts'
import type { ForeignPeer } from '../peers/peers.ts'
import type { Mix } from './scenarios.ts'

export const STORES = ['sqlite', 'postgres'] as const
export const ALGS = ['ES256', 'RS256'] as const
export type StoreName = (typeof STORES)[number]
export type AlgName = (typeof ALGS)[number]

export interface Settings {
  scenarios: readonly string[]
  /** Measured with its parts, and held against what the planner says. */
  mix?: Mix
  connections: number
  /** Machine clients in rotation. */
  clients: number
  /** Of each measurement. */
  seconds: number
  warmup: number
  rounds: number
  generator: Generator
  cold: boolean
  stores: readonly StoreName[]
  /** More than one are measured beside a single one. */
  instances: number
  algs: readonly AlgName[]
  /** Issuances in the database before the run. */
  fills: readonly number[]
  /** The objective: p99 in milliseconds. */
  sloMs: number
  /** Whether the knee is looked for. */
  open: boolean
  /** Whether oidc-provider is measured beside, where it is installed. */
  peer: boolean
  peers: readonly ForeignPeer[]
  /** Whether each work is measured in turns with the yardstick. */
  yardstick: boolean
  /** DSN of a PostgreSQL server on loopback, in which a temporary database is made. */
  postgres?: string
  /** A file or DSN to use in place of a temporary database; it keeps what the run writes. */
  database?: string
  /** The run ends after this long, with what it has. */
  maxMinutes: number
  smoke: boolean
  env: Env
}
/** On PostgreSQL, and what several instances are measured with beside one. */
export const SHARED = { name: 'postgres', works: ['client_credentials', 'refresh_token'], instances: 2 }
export const COLD_CLIENTS = 20_000
