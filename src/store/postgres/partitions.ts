// The partitions of the record on PostgreSQL: one for each calendar month (UTC) of issuances and audit events, created ahead of time.
// A row without a matching partition goes into the default partition, so that no row is refused.
import type { Clock } from '../../lib/time.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { PARTITIONS, type Partition, RECORD_TABLES, type RecordTable, readPartition } from '../partitions.ts'
import { connectedTo, NO_TIMEOUT, type RunQuery } from './client.ts'
import type { PostgresPlace } from './connection.ts'

/** The number of months, the current one included: instances may be stopped for that long, or their clocks may be wrong. */
const MONTHS = 3
const HOUR_MS = 3_600_000
/** The key of an advisory lock. Any number that nothing else locks in this database. */
const LOCK = 'SELECT pg_advisory_xact_lock(7305818042)'
/** Adding a partition locks the default partition for a moment. A transaction that waits for this lock would delay others. */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '3s'"

/** Creates the missing partitions for the months around `now` (epoch seconds). Returns their names. */
export async function makePartitions(query: RunQuery, now: number): Promise<string[]> {
  const made: string[] = []
  for (const record of RECORD_TABLES) {
    const missing = async () => monthsWithout(await partitionsOf(query, record), now)
    if ((await missing()).length === 0) continue
    await query(`BEGIN; ${LOCK_TIMEOUT}`)
    await query(LOCK)
    // Another instance may have created them in the meantime.
    for (const { from, to } of await missing()) {
      const name = `${record}_${from.toISOString().slice(0, 7).replace('-', '_')}`
      const [low, high] = [bound(from), bound(to)]
      // Attaching a partition does not block writers; creating it in place would.
      await query(`CREATE TABLE ${name} (LIKE ${record} INCLUDING DEFAULTS)`)
      // Rows that an instance with a fast clock has already written.
      await query(
        `WITH moved AS (DELETE FROM ${record}_default WHERE id >= ${low} AND id < ${high} RETURNING *) INSERT INTO ${name} SELECT * FROM moved`,
      )
      await query(`ALTER TABLE ${record} ATTACH PARTITION ${name} FOR VALUES FROM (${low}) TO (${high})`)
      made.push(name)
    }
    await query('COMMIT')
  }
  return made
}

const partitionsOf = async (query: RunQuery, record: RecordTable): Promise<Partition[]> =>
  (await query(PARTITIONS.replace('?', `'${record}'`))).map(readPartition)

/** The months without a partition. Empty if the table is not partitioned. */
function monthsWithout(partitions: readonly Partition[], now: number): { from: Date; to: Date }[] {
  const today = new Date(now * 1000)
  const month = (ahead: number) => new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + ahead))
  const isHeld = (at: Date) => partitions.some(({ from, to }) => from <= at.getTime() && at.getTime() < to)
  if (partitions.length === 0) return []
  return Array.from({ length: MONTHS }, (_, i) => ({ from: month(i), to: month(i + 1) })).filter(
    ({ from }) => !isHeld(from),
  )
}

/** The smallest id of a time: an id begins with 48 bits of milliseconds. */
const bound = (at: Date): string => `'\\x${at.getTime().toString(16).padStart(12, '0')}'`

/** Creates partitions now and every hour until it is closed. Errors are logged; until the next attempt rows go into the default partition. */
export async function keepPartitions(
  place: PostgresPlace,
  clock: Clock,
  log: Logger,
): Promise<{ close(): Promise<void> }> {
  const make = async () => {
    try {
      const made = await connectedTo(place, (query) => makePartitions(query, clock.now()), NO_TIMEOUT)
      if (made.length > 0) log.info({ partitions: made }, 'partitions created')
    } catch (error) {
      log.warn({ err: error }, 'partitions could not be created; the next attempt is in an hour')
    }
  }
  await make()
  let last: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    last = make()
  }, HOUR_MS)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await last
    },
  }
}
