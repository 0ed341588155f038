// Runs one operation on a connection of the pool: as one statement where that is possible, otherwise as a transaction, and again after a collision.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { codeOf } from '../lib/error.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Invalidation, invalidationOf } from './cache.ts'
import type { Job } from './database.ts'
import type { Statement } from './op.ts'
import { isRead } from './operations.ts'
import { isCollision, steps } from './postgres_batched.ts'
import { command, databaseUnavailable, execute } from './postgres_client.ts'
import type { Fused } from './postgres_fused.ts'
import type { Task } from './postgres_groups.ts'
import { begin, preparePlans } from './postgres_plans.ts'
import type { Lend } from './postgres_pool.ts'

const COLLISION_MS = 20
const TRIES = 4
/** Error codes of other servers with the PostgreSQL protocol for SQL that they do not support. */
const UNKNOWN_SQL = /^42/
/** Another transaction inserted the row first. A retry of the operation sees that row. */
const DUPLICATE = '23505'

interface PerformerOptions {
  lend: Lend
  /** The last statement of a transaction: it notifies the other instances with the commit. */
  announcement(about: Invalidation): Statement
  log: Logger
}

/** Runs operations individually. */
export class Performer {
  readonly #options: PerformerOptions
  #canFuse = true

  constructor(options: PerformerOptions) {
    this.#options = options
  }

  /** Whether the database supports several changes in one statement, as far as is known. */
  get canFuse(): boolean {
    return this.#canFuse
  }

  /** Runs an operation, up to four times if it collides. Rejects with 503 when the last attempt collides too. */
  perform = async (job: Task): Promise<unknown> => {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(job)
      } catch (error) {
        const collided = isCollision(error)
        if (!collided && (codeOf(error) !== DUPLICATE || tries > 1)) throw error
        if (tries === TRIES) throw databaseUnavailable(error)
        // The other transaction gets the time to commit.
        if (collided) await sleep(Math.random() * tries * COLLISION_MS)
      }
    }
  }

  #attempt(job: Task): Promise<unknown> {
    // A read needs no transaction: each of its statements sees the committed rows in either case.
    const reads = isRead(job.op)
    return this.#options.lend(
      async (client) => {
        await preparePlans(client, job.op)
        return reads ? steps(job, (statement) => execute(client, statement)) : this.#change(client, job)
      },
      { use: reads ? 'reading' : 'writing' },
    )
  }

  async #change(client: pg.PoolClient, job: Task): Promise<unknown> {
    if (job.fused && (await this.#isMadeAtOnce(client, job.fused))) return job.fused.value
    return this.#transaction(client, job)
  }

  /** Whether the one statement of an operation made its changes. If not, the operation itself is run and finds the reason. */
  async #isMadeAtOnce(client: pg.PoolClient, { statement }: Fused): Promise<boolean> {
    if (!this.#canFuse) return false
    try {
      return (await execute(client, statement)) !== undefined
    } catch (error) {
      const code = codeOf(error) ?? ''
      // One of the rows exists already.
      if (code === DUPLICATE) return false
      if (!UNKNOWN_SQL.test(code)) throw error
      this.#canFuse = false
      const reason = (error as Error).message
      this.#options.log.info({ reason }, 'the database does not support several changes as one statement')
      return false
    }
  }

  async #transaction(client: pg.PoolClient, job: Job): Promise<unknown> {
    await begin(client, job.op)
    const value = await steps(job, (statement) => execute(client, statement))
    const invalidation = invalidationOf(job.op, job.input)
    if (invalidation) await execute(client, this.#options.announcement(invalidation))
    await command(client, 'COMMIT')
    return value
  }
}
