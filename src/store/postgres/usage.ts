// A separate database for a measurement, and the resource usage that the PostgreSQL server reports for it.
import { newId } from '../../lib/id.ts'
import { connectedTo } from './client.ts'

/** The resource usage of a database. Figures that the server does not provide are NaN. */
export interface DatabaseUsage {
  /** Size of the database. */
  bytes: number
  /** Bytes written to its log. */
  logBytes: number
  /** Number of flushes of the log to the disk. */
  fsyncs: number
  /** Server processes that work for it. */
  pids: readonly number[]
}

/** Creates an empty database on the server of a DSN. Resolves to its DSN and a function that drops it. */
export async function temporaryDatabase(dsn: string): Promise<{ dsn: string; drop(): Promise<void> }> {
  const name = `service_bench_${Buffer.from(newId(), 'base64url').toString('hex')}`
  await connectedTo({ dsn }, (query) => query(`CREATE DATABASE ${name}`))
  const url = new URL(dsn)
  url.pathname = `/${name}`
  return {
    dsn: url.href,
    drop: () =>
      connectedTo({ dsn }, async (query) => void (await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
  }
}

// The view that counts fsyncs moved in PostgreSQL 18.
const FSYNCS = [
  "SELECT sum(fsyncs) AS n FROM pg_stat_io WHERE object = 'wal'",
  'SELECT wal_sync AS n FROM pg_stat_wal',
] as const

/** Reads the resource usage of the database of a DSN. */
export const readUsage = (dsn: string): Promise<DatabaseUsage> =>
  connectedTo({ dsn }, async (query) => {
    const [sizes] = await query(
      "SELECT pg_database_size(current_database())::float8 AS bytes, (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 AS log",
    )
    let fsyncs = Number.NaN
    for (const text of FSYNCS)
      if (!(fsyncs > 0)) fsyncs = Number((await query(text).catch(() => []))[0]?.['n'] ?? Number.NaN)
    const workers = await query(
      'SELECT pid FROM pg_stat_activity WHERE datname = current_database() OR datname IS NULL',
    )
    return {
      bytes: Number(sizes?.['bytes']),
      logBytes: Number(sizes?.['log']),
      fsyncs,
      pids: workers.map(({ pid }) => Number(pid)),
    }
  })
