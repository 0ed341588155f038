// What travels together on PostgreSQL: rows of one INSERT, reads that do not wait for each other's answers, changes of one
// transaction. Each alone would cost a round trip, which wakes two processes, and a forced write of its own.
import type pg from 'pg'
import { codeOf, OAuthError } from '../lib/error.ts'
import type { Outcome } from '../lib/lane.ts'
import type { Job } from './database.ts'
import type { Op, Statement } from './op.ts'
import { ops } from './operations.ts'
import { command, execute } from './postgres_client.ts'
import { preparePlans } from './postgres_plans.ts'

/** Runs the statements of an operation, one after the other. Resolves to what it returns. */
export async function steps(client: pg.ClientBase, job: Job): Promise<unknown> {
  const operation = start(job)
  let step = operation.next()
  while (!step.done) step = operation.next(await execute(client, step.value))
  return step.value
}

const start = ({ op, input }: Job) => (ops[op] as (input: unknown) => Op<unknown>)(input)

/** What became of a job. */
export const settled = (result: Promise<unknown>): Promise<Outcome<unknown>> =>
  result.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

/** Runs reads on one connection, each as if it were alone. Resolves to their outcomes. */
export async function readBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<Outcome<unknown>[]> {
  for (const { op } of jobs) await preparePlans(client, op)
  return Promise.all(jobs.map((job) => settled(steps(client, job))))
}

/** For so many milliseconds others wait for a row that one of them needs, and somebody else holds. */
export const LOCK_MS = 100
/**
 * Failures of which each that travelled tries by itself: that time is over, or a newer version has changed a table that a
 * statement of this connection was prepared for.
 */
const APART = /^(55P03|0A000)$/
export const runsIndividually = (error: unknown): boolean =>
  error instanceof OAuthError && APART.test(codeOf(error.cause) ?? '')

/** Serialization failures and deadlocks: to be done again. */
const COLLISION = /^40(001|P01)$/
export const isCollision = (error: unknown): boolean => COLLISION.test(codeOf(error) ?? '')

/** Begins the transaction of several operations. Awaited: what is sent behind a BEGIN that fails would be done all the same. */
const begin = (client: pg.ClientBase) => command(client, `BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`)

/** Makes changes, each of one statement that returns a row when it was made, in one transaction. Resolves to whether each was made; rejects when none was, or, 503, when nobody knows. */
export async function changeBatched(client: pg.ClientBase, changes: readonly Statement[]): Promise<boolean[]> {
  await begin(client)
  // A statement that fails makes the server refuse those behind it, and roll back at the COMMIT.
  const rows = await Promise.all([...changes.map((statement) => execute(client, statement)), command(client, 'COMMIT')])
  return changes.map((_, i) => rows[i] !== undefined)
}

/** Runs operations that look at rows and then add some, in one transaction. Resolves to what they return; rejects as changeTogether() does. */
export async function recordBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<unknown[]> {
  for (const { op } of jobs) await preparePlans(client, op)
  await begin(client)
  // All of them have ended before the transaction does: none may send a statement after it.
  const outcomes = await Promise.all(jobs.map((job) => settled(steps(client, job))))
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  if (errors.length > 0) throw errors.find((error) => error instanceof OAuthError) ?? errors[0]
  await command(client, 'COMMIT')
  return outcomes.map((outcome) => 'value' in outcome && outcome.value)
}

/** Inserts the rows of operations that do nothing else, all or none. Powers of two, so that few statements have to be prepared. */
export async function appendBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<void> {
  const parts: Statement[] = []
  for (let rest = jobs.map(firstStatement); rest.length > 0; ) {
    const size = 2 ** Math.floor(Math.log2(rest.length))
    parts.push(oneInsert(rest.slice(0, size)))
    rest = rest.slice(size)
  }
  if (parts.length > 1) await command(client, 'BEGIN')
  for (const part of parts) await execute(client, part)
  if (parts.length > 1) await command(client, 'COMMIT')
}

const firstStatement = (job: Job): Statement => start(job).next().value as Statement

/** One INSERT that does what several of the same SQL do. */
function oneInsert(rows: readonly Statement[]): Statement {
  const [{ sql } = { sql: '' }] = rows
  return {
    sql: sql.replace(/VALUES (\([^)]*\))$/, (_, row: string) => `VALUES ${rows.map(() => row).join(', ')}`),
    params: rows.flatMap(({ params }) => params),
    want: 'run',
  }
}
