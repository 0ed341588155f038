// The number of instances on one database: each instance has a row, which it renews in the statement that polls for invalidations. The
// time is that of the database, so the clocks of instances may differ. Commands and front threads have no row.
import type pg from 'pg'

/** Epoch milliseconds. */
const NOW = '(extract(epoch FROM now()) * 1000)::bigint'
const SILENT_MS = 3000
const KEPT_MS = 60_000

const VERSIONS = 'SELECT name, version, 0 AS others FROM store_versions'
/** One round trip. Its commit does not wait for the disk, because a lost row is written again a second later. */
const RENEW = `WITH here AS (
    INSERT INTO instances (id, seen_at) VALUES ($1, ${NOW}) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at)
  SELECT name, version, (SELECT count(*) FROM instances WHERE id <> $1 AND seen_at > ${NOW} - ${SILENT_MS}) AS others
  FROM store_versions, set_config('synchronous_commit', 'off', true)`
/** Rows of instances that did not remove them are deleted when another instance starts. */
const SWEEP = `DELETE FROM instances WHERE id IN (SELECT id FROM instances WHERE seen_at < ${NOW} - ${KEPT_MS} FOR UPDATE SKIP LOCKED)`
const LEAVE = 'DELETE FROM instances WHERE id = $1'
/** A separate row: a write that waits keeps its row locked, and the presence row must not wait for it. */
const PROVE = 'INSERT INTO instances (id, seen_at) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET seen_at = 0'
const READ_ONLY = '25006'
/** Allocates the space of a new table and releases it. */
const TAKE_ROOM = `BEGIN; CREATE TABLE instances_room (room TEXT); INSERT INTO instances_room VALUES (repeat('x', 2000)); ROLLBACK`

interface VersionRow {
  name: string
  version: number
  others: number
}

/** The registration of this process as an instance. */
export interface Presence {
  /** The number of instances including this one; the last known number while the database is unavailable. */
  count(): number
  /** Initialises a new connection. */
  enter(on: pg.Client): Promise<void>
  /** Renews the row, counts the instances, and reads the versions. */
  ask(from: pg.Client): Promise<VersionRow[]>
  /** Writes on a connection whose commits wait for the disk and for the standby. `wide` also allocates space on the disk. */
  prove(on: pg.ClientBase, wide: boolean): Promise<void>
  /** Removes the row of this instance. */
  leave(on: pg.Client): Promise<void>
}

/** Creates the registration of a process. A process that is not a server is never counted. */
export function openPresence(id: string, serves: boolean): Presence {
  // The higher of the last two counts: after an outage the other instances need a second to reconnect.
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
      // A row that could not be removed expires soon.
      for (const row of [id, `${id}-write`]) await on.query(LEAVE, [row]).catch(() => {})
    },
  }
}

/** On a read-only server only the versions are read. */
async function unlessReadOnly<R>(write: () => Promise<R>): Promise<R | undefined> {
  try {
    return await write()
  } catch (error) {
    if ((error as pg.DatabaseError).code !== READ_ONLY) throw error
    return undefined
  }
}
