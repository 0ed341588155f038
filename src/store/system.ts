// Operations on settings, issuers, counts and the health of the database.
import type { Instance } from '../records/instance.ts'
import { change, idBytes, idText, num, type Op, one, part, raw, selectNumber, str, where } from './op.ts'
import { DEAD_AT, ENDED_BY } from './record.ts'
import { column, plainTable } from './table.ts'

/** The run-time setting with this name. */
export function* findSetting({ name }: { name: string }): Op<string | undefined> {
  const row = yield* one`SELECT value FROM runtime_settings WHERE name = ${name}`
  return row && str(row.value)
}

interface Setting {
  name: string
  value: string
  now: number
}
function* set({ name, value, now }: Setting, ending: string): Op<void> {
  const sql = `INSERT INTO runtime_settings (name, value, updated_at) VALUES (?, ?, ?) ON CONFLICT ${ending}`
  yield* change({ sql, params: [name, value, now] })
}
const REPLACE = '(name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at'

/** Stores a setting and replaces its previous value. */
export const saveSetting = (setting: Setting) => set(setting, REPLACE)

/** Stores a setting if its previous value is smaller as a text. Two callers at once lose nothing. */
export const raiseSetting = (setting: Setting) =>
  set(setting, `${REPLACE} WHERE excluded.value > runtime_settings.value`)

/** Stores a setting unless it has a value. Returns the value in force: the first of several instances decides. */
export function* keepSetting(setting: Setting): Op<string> {
  yield* set(setting, 'DO NOTHING')
  return str(yield* findSetting(setting))
}

const ISSUERS = plainTable<{ since: number; issuer: string }>('issuers', { since: column.int, issuer: column.text() })

/** Stores since when an issuer is in force, if it differs from the previous one. */
export function* saveIssuer({ issuer, now }: { issuer: string; now: number }): Op<void> {
  const last = yield* one`SELECT issuer FROM issuers ORDER BY since DESC LIMIT 1`
  if (last?.issuer === issuer) return
  yield* ISSUERS.replace({ since: last ? now : 0, issuer }, 'since')
}

/** The issuers that are or were in force, newest first. */
export const listIssuers = () => ISSUERS.list`ORDER BY since DESC`

/** Instances are listed for this long after their last sign of life. */
const SILENT_MS = 3000

const INSTANCES = plainTable<Instance>('instances', {
  version: column.text(),
  host: column.text(),
  address: column.text(),
  started_at: column.int,
  threads: column.int,
  fingerprints: column.maybeJson(),
  seen_at: column.int,
})

/** The instances on this database, the oldest first. None on SQLite, where a server is alone. */
export const listInstances = () =>
  INSTANCES.list`WHERE version IS NOT NULL AND seen_at > (SELECT max(seen_at) FROM instances) - ${SILENT_MS}
    ORDER BY started_at, host, address`

/** The numbers of clients, users and connections to providers. */
export function* countAccounts(): Op<{ clients: number; users: number; connections: number }> {
  const row = yield* one`SELECT (SELECT count(*) FROM clients) AS clients, (SELECT count(*) FROM users) AS users,
    (SELECT count(*) FROM broker_grants WHERE revoked_at IS NULL) AS connections`
  return { clients: num(row?.clients), users: num(row?.users), connections: num(row?.connections) }
}

export interface CountedTokens {
  live: number
  revoked: number
  /** Where to continue; undefined at the end. */
  next?: string
}
/** Counts the live and the revoked tokens among the first `rows` issued tokens between two ids. */
export function* countTokens(w: { after: string; before: string; rows: number; now: number }): Op<CountedTokens> {
  const [after, before] = [idBytes(w.after), idBytes(w.before)]
  const last = yield* one`SELECT id FROM issuances WHERE id > ${after} AND id < ${before}
    ORDER BY id LIMIT 1 OFFSET ${w.rows - 1}`
  const range = where(['i.id > ?', after], last ? ['i.id <= ?', last.id as Buffer] : ['i.id < ?', before])
  const page = part`SELECT i.expires_at, ${raw(`${DEAD_AT} FROM issuances i ${ENDED_BY}`)} ${range}`
  const row =
    yield* one`SELECT COALESCE(sum(CASE WHEN dead_at IS NULL AND expires_at > ${w.now} THEN 1 ELSE 0 END), 0) AS live,
    COALESCE(sum(CASE WHEN dead_at IS NOT NULL THEN 1 ELSE 0 END), 0) AS revoked FROM (${page}) page`
  return { live: num(row?.live), revoked: num(row?.revoked), ...(last ? { next: idText(last.id) } : {}) }
}

/** Bytes of a SQLite database. */
export const readSqliteBytes = () =>
  selectNumber`SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()`
/** Bytes of a PostgreSQL database. */
export const readPostgresBytes = () => selectNumber`SELECT pg_database_size(current_database()) AS n`

/** When the storage is unhealthy, as many bytes as a batch of tokens needs. */
const DOUBT_BYTES = 65_536

/** Its commit proves that the database can be written. `mark` must differ each time, otherwise nothing would be written. */
export function* proveWrite({ mark, inDoubt }: { mark: string; inDoubt: boolean }): Op<void> {
  yield* saveSetting({ name: 'write_proof', value: mark.padEnd(inDoubt ? DOUBT_BYTES : 0, 'x'), now: 0 })
}

/** Proves that the database answers. */
export function* readHealth(): Op<boolean> {
  return (yield* one`SELECT 1 AS ok`)?.ok === 1
}
