// The pool of connections to PostgreSQL. A connection without an answer is abandoned, but keeps its place in the pool until its server
// process is gone. So there are never more server processes than allowed connections.
import pg from 'pg'
import { OAuthError } from '../../lib/error.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Backends } from './backends.ts'
import { command, databaseUnavailable, failureOf } from './client.ts'

/** The purpose of a connection. `mending` is the work of the driver itself to become available again. */
export type PoolUse = 'reading' | 'writing' | 'mending'

export interface LendOptions<R> {
  use: PoolUse
  /** Whether a result leaves the connection usable. */
  isSound?(result: R): boolean
}
/** Lends a connection for some work. */
export type Lend = <R>(work: (client: pg.PoolClient) => Promise<R>, options: LendOptions<R>) => Promise<R>

interface PoolOptions {
  config: pg.PoolConfig
  backends: Backends
  log: Logger
  /** The reason why connections cannot be used for a purpose now. */
  refusal(use: PoolUse): OAuthError | undefined
  /** Called when a connection was abandoned and its server process must be terminated. */
  onLeft(): void
}

export type ConnectionPool = ReturnType<typeof openPool>

interface Loan {
  use: PoolUse
  sinceMs: number
}

/** Opens the pool; connections are opened when they are needed. */
export function openPool(options: PoolOptions) {
  const pool = new pg.Pool({ ...options.config, onConnect: (client) => options.backends.identify(client) })
  const clients = new Set<pg.PoolClient>()
  const loans = new Map<pg.PoolClient, Loan>()
  let discarding = false
  // Only the message: the error of the pool contains the whole connection.
  pool.on('error', ({ message }) => {
    if (!discarding) options.log.warn({ reason: message }, 'an idle database connection was lost')
  })
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))

  const leave = async (client: pg.PoolClient): Promise<void> => {
    destroy(client)
    const gone = options.backends.gone(client)
    options.onLeft()
    await gone
  }
  return {
    lend: lenderOf(pool, loans, options.refusal, leave),
    /** Abandons every connection: the server of these connections is gone. */
    discard(): void {
      discarding = true
      for (const client of [...clients]) {
        // The borrower releases a connection that is lent.
        if (loans.has(client)) destroy(client)
        else void leave(client)
      }
      discarding = false
    },
    /** Abandons connections that were lent for a purpose and have had no answer for some milliseconds. */
    giveUp(use: PoolUse, silentMs: number): void {
      for (const [client, loan] of loans)
        if (loan.use === use && performance.now() - loan.sinceMs >= silentMs) destroy(client)
    },
    counts: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

function lenderOf(
  pool: pg.Pool,
  loans: Map<pg.PoolClient, Loan>,
  refusal: PoolOptions['refusal'],
  leave: (client: pg.PoolClient) => Promise<void>,
): Lend {
  const check = (use: PoolUse) => {
    const refused = refusal(use)
    if (refused) throw refused
  }
  return async (work, { use, isSound = () => true }) => {
    check(use)
    const client = await connect(pool)
    loans.set(client, { use, sinceMs: performance.now() })
    let isUsable = true
    try {
      // The state may have changed while this call waited for a connection.
      check(use)
      const result = await work(client)
      isUsable = isSound(result)
      return result
    } catch (error) {
      isUsable = error instanceof OAuthError ? isUnsent(error) : await isRolledBack(client)
      throw error
    } finally {
      loans.delete(client)
      if (isUsable) client.release()
      else void leave(client).then(() => client.release(true))
    }
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unsent(failureOf(error))
  }
}

const destroy = (client: pg.PoolClient) => client.connection.stream.destroy(new Error('the connection was abandoned'))

const isRolledBack = (client: pg.PoolClient): Promise<boolean> =>
  command(client, 'ROLLBACK').then(
    () => true,
    () => false,
  )

/** Refusals of operations that were never sent to the database. */
const unsentRefusals = new WeakSet<Error>()
const unsent = <E extends Error>(error: E): E => {
  unsentRefusals.add(error)
  return error
}
/** Whether it is certain that no part of the operation was sent. */
export const isUnsent = (error: Error): boolean => unsentRefusals.has(error)

/** The 503 of an operation that is refused before any part of it is sent. */
export const refusedFor = (reason: string): OAuthError => unsent(databaseUnavailable(new Error(reason)))
