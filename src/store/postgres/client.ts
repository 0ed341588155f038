// Connections to PostgreSQL: how they are opened, how statements of operations run on them, and what their failures mean.
import { hash } from 'node:crypto'
import pg from 'pg'
import { clip } from '../../lib/bounded.ts'
import { type OAuthError, unavailable } from '../../lib/error.ts'
import { NamedSocket } from '../../lib/system_names.ts'
import type { Statement } from '../op.ts'
import { type MigrateHow, type MigrationStep, type MigrationSteps, migration } from '../schema/migrate.ts'
import { type ConnectionSettings, PostgresConnection, type PostgresPlace } from './connection.ts'

/** First the statement timeout of the server, a little later the timeout of this process: every caller is answered within ten seconds. */
const STATEMENT_MS = 8000
const ANSWER_MS = STATEMENT_MS + 1000
const BIGINT = 20

/** Settings of every connection. Settings of the connection string have precedence. */
export const clientSettings = (place: PostgresPlace): ConnectionSettings => ({
  place,
  stream: () => new NamedSocket(),
  application_name: 'service',
  sessionMs: STATEMENT_MS,
  query_timeout: ANSWER_MS,
  keepAlive: true,
  // Counters and epoch seconds fit into a number; pg would return them as text.
  types: { getTypeParser: (oid, format) => (oid === BIGINT ? Number : pg.types.getTypeParser(oid, format)) },
})

/** For long statements, and for statements that wait for a long one of another process. */
export const NO_TIMEOUT = { sessionMs: 0, query_timeout: 0 }

/** Runs SQL without parameters. Resolves to its rows. */
export type RunQuery = (text: string) => Promise<Record<string, unknown>[]>
/** Runs SQL that is not an operation of the store, on its own connection. */
export async function connectedTo<R>(
  place: PostgresPlace,
  work: (query: RunQuery, client: pg.Client) => Promise<R>,
  more: Partial<ConnectionSettings> = {},
): Promise<R> {
  const client = new PostgresConnection({ ...clientSettings(place), ...more })
  try {
    await client.connect()
    return await work(async (text) => (await query(client, { text }, undefined)).rows, client)
  } finally {
    await client.end()
  }
}

/** Runs a statement. Failures are converted by failureOf(). */
export async function execute(client: pg.ClientBase, statement: Statement): Promise<unknown> {
  if (statement.want !== 'run' && statement.params.some(isUnstorable)) return statement.want === 'all' ? [] : undefined
  const { rows, rowCount } = await query(client, prepared(statement), statement.params)
  if (statement.want === 'one') return rows[0]
  return statement.want === 'all' ? rows : (rowCount ?? 0)
}

/** PostgreSQL refuses text with a NUL, so no stored text can equal it. */
const isUnstorable = (param: unknown): boolean => typeof param === 'string' && param.includes('\0')

/** Runs BEGIN, COMMIT and the like. */
export const command = (client: pg.ClientBase, text: string): Promise<unknown> => query(client, { text }, undefined)

async function query(client: pg.ClientBase, config: pg.QueryConfig, params: readonly unknown[] | undefined) {
  try {
    return await client.query<Record<string, unknown>>({ values: params as unknown[], ...config })
  } catch (error) {
    throw failureOf(error)
  }
}

const statements = new Map<string, pg.QueryConfig>()

/** The statement with $1 instead of ?, under a name that each connection prepares once. The name is a hash, because long statements may differ only at their end. */
function prepared({ sql, forUpdate }: Statement): pg.QueryConfig {
  const key = forUpdate ? `${sql} FOR UPDATE` : sql
  const known = statements.get(key)
  if (known) return known
  let n = 0
  const statement = { text: key.replace(/\?/g, () => `$${++n}`), name: hash('sha256', key).slice(0, 32) }
  statements.set(key, statement)
  return statement
}

/**
 * Errors of connections, authentication and resources, shutdown, timeouts and read-only servers; and 0A000: a newer version has
 * changed the table of a prepared statement, which another connection prepares again.
 */
const UNAVAILABLE = /^(08|28|53|57|58|0A000|25006|25P03|55P03)/

const ONLY_READS = '25006'

/** An unavailable database is 503; every other error is a bug of this program. Values that PostgreSQL adds to its message are left out. */
export function failureOf(thrown: unknown): Error {
  const { message, code } = thrown as Error & { code?: string }
  const error = Object.assign(new Error(message || code), { code })
  // An error that the server did not send is an error of the network.
  const isUnavailable = !(thrown instanceof pg.DatabaseError) || UNAVAILABLE.test(code ?? '')
  return isUnavailable ? databaseUnavailable(error) : error
}

/** The 503 for a database that is unavailable now. */
export const databaseUnavailable = (cause: unknown): OAuthError =>
  unavailable('the storage is not available', { reason: 'storage_unavailable', cause })

/** Whether the database was migrated. True for a database that is unreachable: preparing it reports the reason. */
export const isPostgresMigrated = (place: PostgresPlace): Promise<boolean> =>
  connectedTo(place, async (query) => {
    const rows = await query(
      "SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'schema_migrations'",
    )
    return rows.length > 0
  }).catch(() => true)

/** Creates or updates the tables. Returns the names of the applied migrations. */
export const preparePostgres = (place: PostgresPlace, now: number, how?: MigrateHow): Promise<string[]> =>
  stepsOnPostgres(place, migration('postgres', now, how))

/** Runs steps on a connection of their own. */
export async function stepsOnPostgres<R>(place: PostgresPlace, steps: MigrationSteps<R>): Promise<R> {
  const client = new PostgresConnection({
    ...clientSettings(place),
    ...NO_TIMEOUT,
    application_name: 'service migrate',
  })
  const run = (step: MigrationStep) => (typeof step === 'string' ? client.query(step) : execute(client, step))
  try {
    await client.connect()
    const { rows } = await client.query<{ version: string }>('SELECT version()')
    checkIsPostgres(rows[0]?.version ?? '')
    let next = steps.next()
    while (!next.done) next = steps.next(await run(next.value))
    return next.value
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const hint =
      code === ONLY_READS
        ? ': this server only reads (a standby?); name all servers, with target_session_attrs=read-write'
        : ''
    throw new Error(`cannot prepare the database of storage.postgres.dsn: ${message || code}${hint}`, { cause: error })
  } finally {
    // Rolls back an open transaction.
    await client.end()
  }
}

/** Servers with the protocol of PostgreSQL that are not PostgreSQL, by the text in their version. */
const OTHER_SERVERS = {
  CockroachDB: /^CockroachDB/,
  YugabyteDB: /-YB-/,
  'Amazon Redshift': /Redshift/,
  Materialize: /Materialize/,
} as const
const MAX_VERSION = 80

/** Throws for a server that is not PostgreSQL: it has no order of transactions, on which webhooks and streams depend, or no locks or notifications. */
function checkIsPostgres(version: string): void {
  const [name] = Object.entries(OTHER_SERVERS).find(([, pattern]) => pattern.test(version)) ?? []
  if (name === undefined && version.startsWith('PostgreSQL ')) return
  throw new Error(
    `the server is ${name ?? 'not PostgreSQL'} (version: ${clip(version, MAX_VERSION)}), which is not supported: use PostgreSQL`,
  )
}
