// The number of instances on one database: each instance has a row, which it renews in the statement that polls for invalidations. The
// time is that of the database, so the clocks of instances may differ. Commands and front threads have no row.
import type pg from 'pg'
import { isObject } from '../../lib/json.ts'
import { differingSettings, type InstanceAbout, SHARED_SETTINGS, type SharedSetting } from '../../records/instance.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { unsupportedBy } from '../schema/schema_support.ts'

/** Epoch milliseconds. */
const NOW = '(extract(epoch FROM now()) * 1000)::bigint'
const SILENT_MS = 3000
const KEPT_MS = 60_000

const OLDEST = '(SELECT oldest FROM schema_support) AS oldest'
const VERSIONS = `SELECT name, version, 0 AS others, ${OLDEST}, NULL AS settings FROM store_versions`
/** One round trip. Its commit does not wait for the disk, because a lost row is written again a second later. */
const RENEW = `WITH here AS (
    INSERT INTO instances (id, seen_at, version, host, address, started_at, threads, fingerprints) VALUES ($1, ${NOW}, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at)
  SELECT name, version, (SELECT count(*) FROM instances WHERE id <> $1 AND seen_at > ${NOW} - ${SILENT_MS}) AS others, ${OLDEST},
    (SELECT string_agg(DISTINCT fingerprints, E'\\n') FROM instances WHERE id <> $1 AND seen_at > ${NOW} - ${SILENT_MS}) AS settings
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
  oldest: string
  /** The fingerprints of the other instances, one JSON object in a line. */
  settings: string | null
}

/** The registration of this process as an instance. */
export type Presence = ReturnType<typeof openPresence>

/** Creates the registration of a process. A process that is not a server, which says nothing about itself, is never counted. */
export function openPresence(id: string, serves: InstanceAbout | undefined, log: Pick<Logger, 'error' | 'warn'>) {
  const row = serves && [
    id,
    serves.version,
    serves.host,
    serves.address,
    serves.started_at,
    serves.threads,
    serves.fingerprints ? JSON.stringify(serves.fingerprints) : null,
  ]
  const compare = comparer(serves, log)
  // The higher of the last two counts: after an outage the other instances need a second to reconnect.
  let [before, last] = [1, 1]
  let unsupported: string | undefined
  const look = (oldest: string | undefined): void => {
    const reason = oldest === undefined ? undefined : unsupportedBy(oldest)
    if (reason && reason !== unsupported) log.error({ reason }, 'not ready: this version is too old for the database')
    unsupported = reason
  }
  return {
    /** The number of instances including this one; the last known number while the database is unavailable. */
    count: () => Math.max(before, last),
    /** Why this version does not work with the database, in a sentence. Undefined when it does. */
    unsupported: () => unsupported,
    /** The shared settings in which this instance and the others differ. */
    differing: () => compare.differing,
    /** Initialises a new connection. */
    async enter(on: pg.Client): Promise<void> {
      if (serves) await unlessReadOnly(() => on.query(SWEEP))
    },
    /** Renews the row, counts the instances, and reads the versions. */
    async ask(from: pg.Client): Promise<VersionRow[]> {
      const renewed = serves ? await unlessReadOnly(() => from.query<VersionRow>(RENEW, row)) : undefined
      const { rows } = renewed ?? (await from.query<VersionRow>(VERSIONS))
      if (renewed) [before, last] = [last, 1 + (rows[0]?.others ?? 0)]
      look(rows[0]?.oldest)
      if (renewed) compare.with(rows[0]?.settings ?? '')
      return rows
    },
    /** Writes on a connection whose commits wait for the disk and for the standby. `wide` also allocates space on the disk. */
    async prove(on: pg.ClientBase, wide: boolean): Promise<void> {
      if (wide) await on.query(TAKE_ROOM)
      await on.query(PROVE, [`${id}-write`])
    },
    /** Removes the row of this instance. */
    async leave(on: pg.Client): Promise<void> {
      // A row that could not be removed expires soon.
      for (const row of [id, `${id}-write`]) await on.query(LEAVE, [row]).catch(() => {})
    },
  }
}

/** Compares the settings of this instance with those of the others, when these change. Warns when other settings differ than before. */
function comparer(serves: InstanceAbout | undefined, log: Pick<Logger, 'warn'>) {
  let seen = ''
  const state = {
    differing: [] as readonly SharedSetting[],
    with(settings: string): void {
      if (!serves?.fingerprints || settings === seen) return
      seen = settings
      const others = settings.split('\n').flatMap(fingerprintsIn)
      const differing = differingSettings([serves.fingerprints, ...others])
      if (differing.length > 0 && differing.join() !== state.differing.join())
        log.warn(
          { settings: differing },
          `instances on this database differ in ${differing.map((name) => SHARED_SETTINGS[name]).join(', ')}: give all of them the same configuration`,
        )
      state.differing = differing
    },
  }
  return state
}

/** The row of an instance of another version may have anything. */
function fingerprintsIn(line: string): Partial<Record<SharedSetting, string>>[] {
  try {
    const parsed: unknown = JSON.parse(line)
    return isObject(parsed) ? [parsed] : []
  } catch {
    return []
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
