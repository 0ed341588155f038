// Instances on one database know how many they are: each has a row, which it renews in the statement that asks for news. The time
// is that of the database, so clocks may differ. Who only works on the database (a command, a front thread) has no row.
import type pg from 'pg'

/** Epoch milliseconds. */
const NOW = '(extract(epoch FROM now()) * 1000)::bigint'
const SILENT_MS = 3000
const KEPT_MS = 60_000

const VERSIONS = 'SELECT name, version, 0 AS others FROM store_versions'
/** One round trip, whose commit does not wait for the disk: a row that is lost is written again a second later. */
const RENEW = `WITH here AS (
    INSERT INTO instances (id, seen_at) VALUES ($1, ${NOW}) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at)
  SELECT name, version, (SELECT count(*) FROM instances WHERE id <> $1 AND seen_at > ${NOW} - ${SILENT_MS}) AS others
  FROM store_versions, set_config('synchronous_commit', 'off', true)`
/** What was never taken away goes with the next one that comes. */
const SWEEP = `DELETE FROM instances WHERE id IN (SELECT id FROM instances WHERE seen_at < ${NOW} - ${KEPT_MS} FOR UPDATE SKIP LOCKED)`
const LEAVE = 'DELETE FROM instances WHERE id = $1'
/** A row that is nobody's presence: a write that waits holds its lock, and the presence must not wait with it. */
const PROVE = 'INSERT INTO instances (id, seen_at) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET seen_at = 0'
const READ_ONLY = '25006'
/** Room of a new table, which is given back. */
const TAKE_ROOM = `BEGIN; CREATE TABLE instances_room (room TEXT); INSERT INTO instances_room VALUES (repeat('x', 2000)); ROLLBACK`

interface VersionRow {
  name: string
  version: number
  others: number
}

/** The place of this process among the instances. */
export interface Presence {
  /** How many there are, this one included; the last known number while the database is away. */
  count(): number
  /** What is done first on a new connection. */
  enter(on: pg.Client): Promise<void>
  /** Renews the row, counts, and reads the versions. */
  ask(from: pg.Client): Promise<VersionRow[]>
  /** Writes on a connection whose commits wait for the disk and for the standby; `wide` takes new room on the disk too. */
  prove(on: pg.ClientBase, wide: boolean): Promise<void>
  /** Is not counted from now on. */
  leave(on: pg.Client): Promise<void>
}

/** Makes the place of a process with an id; one that does not serve is never counted. */
export function openPresence(id: string, serves: boolean): Presence {
  // The higher one of the last two counts: after an outage the others need a second to come back.
  let [before, last] = [1, 1]
  return {
    count: () => Math.max(before, last),
    async enter(on) {
      if (serves) await unlessReadOnly(() => on.query(SWEEP))
    },
    async ask(from) {
      const renewed = serves ? await unlessReadOnly(() => from.query<VersionRow>(RENEW, [id])) : undefined
      const { rows } = renewed ?? (await from.query<VersionRow>(VERSIONS))
      if (renewed) [before, last] = [last, 1 + (rows[0]?.others ?? 0)]
      return rows
    },
    async prove(on, wide) {
      if (wide) await on.query(TAKE_ROOM)
      await on.query(PROVE, [`${id}-write`])
    },
    async leave(on) {
      // A row that stays is silent soon.
      for (const row of [id, `${id}-write`]) await on.query(LEAVE, [row]).catch(() => {})
    },
  }
}

/** A server that only reads still tells the news. */
async function unlessReadOnly<R>(write: () => Promise<R>): Promise<R | undefined> {
  try {
    return await write()
  } catch (error) {
    if ((error as pg.DatabaseError).code !== READ_ONLY) throw error
    return undefined
  }
}
