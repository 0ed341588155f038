// Runs one operation on a connection of the pool: as a transaction, and again after a collision.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { codeOf } from '../../lib/error.ts'
import { type Invalidation, invalidationOf } from '../cache.ts'
import type { Job } from '../database.ts'
import type { Statement } from '../op.ts'
import { isRead } from '../operations.ts'
import { isCollision, steps } from './batched.ts'
import { command, databaseUnavailable, execute } from './client.ts'
import { begin, preparePlans } from './plans.ts'
import type { Lend } from './pool.ts'

const COLLISION_MS = 20
const TRIES = 4
/** Another transaction inserted the row first. A retry of the operation sees that row. */
const DUPLICATE = '23505'

interface PerformerOptions {
  lend: Lend
  /** The last statement of a transaction: it notifies the other instances with the commit. */
  announcement(about: Invalidation): Statement
}

/** Runs operations individually. */
export class Performer {
  private readonly options: PerformerOptions

  constructor(options: PerformerOptions) {
    this.options = options
  }

  /** Runs an operation, up to four times if it collides. Rejects with 503 when the last attempt collides too. */
  perform = async (job: Job): Promise<unknown> => {
    for (let tries = 1; ; tries++) {
      try {
        return await this.attempt(job)
      } catch (error) {
        const collided = isCollision(error)
        if (!collided && (codeOf(error) !== DUPLICATE || tries > 1)) throw error
        if (tries === TRIES) throw databaseUnavailable(error)
        // The other transaction gets the time to commit.
        if (collided) await sleep(Math.random() * tries * COLLISION_MS)
      }
    }
  }

  private attempt(job: Job): Promise<unknown> {
    // A read needs no transaction: each of its statements sees the committed rows in either case.
    const reads = isRead(job.op)
    return this.options.lend(
      async (client) => {
        await preparePlans(client, job.op)
        return reads ? steps(job, (statement) => execute(client, statement)) : this.transaction(client, job)
      },
      { use: reads ? 'reading' : 'writing' },
    )
  }

  private async transaction(client: pg.PoolClient, job: Job): Promise<unknown> {
    await begin(client, job.op)
    const value = await steps(job, (statement) => execute(client, statement))
    const invalidation = invalidationOf(job.op, job.input)
    if (!invalidation) await command(client, 'COMMIT')
    else {
      // The announcement locks the row of a version, for which all other writers wait, so that the COMMIT is sent without waiting for its
      // answer. If it fails, PostgreSQL rolls back at the COMMIT.
      const sent = [execute(client, this.options.announcement(invalidation)), command(client, 'COMMIT')]
      await Promise.allSettled(sent)
      await Promise.all(sent)
    }
    return value
  }
}
