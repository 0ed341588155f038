// A connection to PostgreSQL. Each connection reads the connection string, the password and the certificates again, and tries the
// hosts in their order until one matches target_session_attrs.
import { EventEmitter } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { codeOf } from '../../lib/error.ts'
import { type Dsn, type DsnHost, passwordIn, readDsn, type SessionAttrs, type Tls, tlsWays } from './dsn.ts'

/** Where the database is, and the file with its password. */
export interface PostgresPlace {
  dsn: string
  password_file?: string
}

/** How a connection is opened. */
export interface ConnectionSettings extends pg.ClientConfig {
  place: PostgresPlace
  /** Timeout of a statement, and of a transaction that is idle; 0 means no timeout. */
  sessionMs: number
}

/** Timeout for one host. It is short if there are several hosts, so that the next one is tried soon. */
const [CONNECT_MS, HOST_MS] = [3000, 2000]
/** The server is starting up, shutting down or recovering; another host may be available. */
const CANNOT_CONNECT_NOW = '57P03'
const NOT_REACHED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ETIMEOUT|ENOENT|timeout expired/

/** The session attributes that are required, for each pass over all hosts. */
const WANTED: Readonly<Record<SessionAttrs, readonly ((session: SessionRow) => boolean)[]>> = {
  any: [() => true],
  'read-write': [({ standby, read_only }) => !standby && !read_only],
  'read-only': [({ standby, read_only }) => standby || read_only],
  primary: [({ standby }) => !standby],
  standby: [({ standby }) => standby],
  'prefer-standby': [({ standby }) => standby, () => true],
}
interface SessionRow {
  standby: boolean
  read_only: boolean
}
const SESSION = `SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') = 'on' AS read_only`

/** Maximum duration of an attempt to connect, over all hosts, in milliseconds. */
export function connectMs({ dsn }: PostgresPlace): number {
  const read = readDsn(dsn)
  return read.hosts.length * WANTED[read.sessionAttrs].length * hostMs(read)
}

const hostMs = ({ hosts, connectSeconds }: Dsn): number =>
  connectSeconds ? connectSeconds * 1000 : hosts.length > 1 ? HOST_MS : CONNECT_MS

/** A connection to one of the hosts of a connection string. No error listener is needed for a lost connection. */
export class PostgresConnection extends pg.Client {
  readonly #settings: ConnectionSettings

  constructor(settings: ConnectionSettings) {
    super({})
    this.#settings = settings
    this.on('error', () => {})
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error | undefined) => void): void
  override connect(callback?: (error: Error | undefined) => void): Promise<this> | undefined {
    const connected = this.#findServer()
    if (!callback) return connected
    connected.then(
      () => process.nextTick(callback),
      (error) => process.nextTick(callback, error),
    )
    return undefined
  }

  async #findServer(): Promise<this> {
    const dsn = readDsn(this.#settings.place.dsn)
    const faults: Error[] = []
    for (const wanted of WANTED[dsn.sessionAttrs])
      for (const at of dsn.hosts)
        try {
          await this.#enter(dsn, at)
          if (await this.#isWanted(dsn, wanted)) return this
          this.#detached().end()
          faults.push(new Error(`the server is not ${dsn.sessionAttrs}`))
        } catch (error) {
          faults.push(error as Error)
          if (error instanceof pg.DatabaseError && error.code !== CANNOT_CONNECT_NOW) throw error
        }
    const [only] = faults
    if (only && faults.length === 1) throw only
    const said = dsn.hosts.map(
      ({ host, port }, i) => `${host ?? ''}:${port ?? ''} ${sayOf(faults.at(i - dsn.hosts.length))}`,
    )
    throw new Error(`no server of the connection string can be used: ${said.join('; ')}`, { cause: faults })
  }

  /** Connects to one host, with each TLS setting that sslmode allows. */
  async #enter(dsn: Dsn, at: DsnHost): Promise<void> {
    const ways = tlsWays(dsn, at.host)
    for (const [i, tls] of ways.entries())
      try {
        return await this.#open(dsn, at, tls)
      } catch (error) {
        // The next setting is tried only if the server answered.
        if (i === ways.length - 1 || isNotReached(error as Error)) throw error
      }
  }

  async #open(dsn: Dsn, at: DsnHost, tls: Tls): Promise<void> {
    this.#renew({ ...this.#settings, ...driverSettings(dsn, at, this.#settings.place), ssl: tls })
    try {
      await super.connect()
      // Poolers refuse these settings as startup parameters.
      const { sessionMs } = this.#settings
      await this.query({
        text: `SET statement_timeout = ${sessionMs}; SET idle_in_transaction_session_timeout = ${sessionMs}`,
        ...timed(hostMs(dsn)),
      })
    } catch (error) {
      this.#detached().stream.destroy()
      throw error
    }
  }

  /** Abandons the connection to a host. Its later errors are ignored. */
  #detached(): pg.Connection {
    const { connection } = this
    connection.removeAllListeners()
    connection.on('error', () => {})
    return connection
  }

  async #isWanted(dsn: Dsn, wanted: (session: SessionRow) => boolean): Promise<boolean> {
    if (dsn.sessionAttrs === 'any') return true
    const { rows } = await this.query<SessionRow>({ text: SESSION, ...timed(hostMs(dsn)) })
    return rows.some(wanted)
  }

  /** Resets the client to the state before connect(): the driver allows only one connect() for each client. */
  #renew(config: pg.ClientConfig): void {
    const fresh = new pg.Client(config)
    for (const name of Object.getOwnPropertyNames(fresh))
      if (!EMITTER.has(name)) Reflect.set(this, name, Reflect.get(fresh, name))
  }
}

const EMITTER = new Set(Object.getOwnPropertyNames(new EventEmitter()))
/** The driver supports a timeout for one query, but its types do not declare it. */
const timed = (ms: number): object => ({ query_timeout: ms })

/** The settings of the driver for one host. */
function driverSettings(dsn: Dsn, { host, port }: DsnHost, place: PostgresPlace): pg.ClientConfig {
  const { user, dbname, options, application_name, client_encoding, channel_binding, sslnegotiation } = dsn.keywords
  const given = { host, port, user, database: dbname, options, application_name, client_encoding, sslnegotiation }
  const password = passwordOf(dsn, place)
  return {
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(password === undefined ? {} : { password }),
    enableChannelBinding: channel_binding === 'prefer' || channel_binding === 'require',
    connectionTimeoutMillis: hostMs(dsn),
  }
}

/** The password file is read when the server requests the password. Undefined means PGPASSWORD. */
function passwordOf({ keywords }: Dsn, { password_file }: PostgresPlace): pg.ClientConfig['password'] {
  const { password, passfile } = keywords
  if (password_file) return async () => (await readFile(password_file, 'utf8')).replace(/\r?\n$/, '')
  if (password !== undefined || process.env['PGPASSWORD']) return password
  // The driver passes the server as `this`, but its types do not declare it.
  const find = (asking: Asking) => fromPassfile(passfile ?? process.env['PGPASSFILE'], asking)
  return find as unknown as () => Promise<string>
}
interface Asking {
  host: string
  port: number
  database: string
  user: string
}

async function fromPassfile(
  named: string | undefined,
  { host, port, database, user }: Asking,
): Promise<string | undefined> {
  const file = named ?? path.join(homedir(), '.pgpass')
  const found = await stat(file).catch(() => undefined)
  if (!found) return undefined
  if (found.mode & 0o077) throw new Error(`the password file ${file} can be read by others; its mode must be 0600`)
  const server = host.startsWith('/') ? 'localhost' : host
  return passwordIn(await readFile(file, 'utf8'), [server, port, database, user])
}

/** Whether an error shows that no server can be used now, and not that a server refused: away, starting, recovering, or a standby. */
export const isAway = (error: Error): boolean =>
  error instanceof pg.DatabaseError
    ? error.code === CANNOT_CONNECT_NOW
    : isNotReached(error) || Array.isArray(error.cause)

const isNotReached = (error: Error): boolean => NOT_REACHED.test(`${codeOf(error) ?? ''} ${error.message}`)

const sayOf = (error: Error | undefined): string =>
  error?.message || (error as NodeJS.ErrnoException | undefined)?.code || 'failed'
