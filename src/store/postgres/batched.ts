// Batches on PostgreSQL: rows of one INSERT, lookups of one statement, changes in one transaction. Individually each would cost a round
// trip, which wakes two processes, and its own flush of the log.
import type pg from 'pg'
import { codeOf, OAuthError } from '../../lib/error.ts'
import type { Outcome } from '../../lib/threads/lane.ts'
import type { Job } from '../database.ts'
import type { Op, Statement } from '../op.ts'
import { ops } from '../operations.ts'
import { command, execute } from './client.ts'
import { type Fused, LOCK_MS } from './fused.ts'
import { lookups, type Run } from './lookups.ts'
import { preparePlans } from './plans.ts'
import { encodeSets, setsOf, typeOf } from './sets.ts'

/** Runs the statements of an operation, one after the other. Resolves to what it returns. */
export async function steps(job: Job, run: Run): Promise<unknown> {
  const operation = start(job)
  let step = operation.next()
  while (!step.done) step = operation.next(await run(step.value))
  return step.value
}

const start = ({ op, input }: Job) => (ops[op] as (input: unknown) => Op<unknown>)(input)

/** The outcome of a job. */
export const settled = (result: Promise<unknown>): Promise<Outcome<unknown>> =>
  result.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )

/** Runs independent reads on one connection. Resolves to their outcomes. */
export async function readBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<Outcome<unknown>[]> {
  for (const { op } of jobs) await preparePlans(client, op)
  const run = lookups(client)
  return Promise.all(jobs.map((job) => settled(steps(job, run))))
}

/**
 * Failures after which each operation of a batch is run individually: the lock timeout, or a table that a newer version changed after
 * this connection had prepared a statement for it.
 */
const INDIVIDUALLY = /^(55P03|0A000)$/
export const runsIndividually = (error: unknown): boolean =>
  error instanceof OAuthError && INDIVIDUALLY.test(codeOf(error.cause) ?? '')

/** Serialization failures and deadlocks: the operation is retried. */
const COLLISION = /^40(001|P01)$/
export const isCollision = (error: unknown): boolean => COLLISION.test(codeOf(error) ?? '')

/** Begins the transaction of several operations. It must be awaited: statements that are sent after a BEGIN that fails would be executed. */
const begin = (client: pg.ClientBase) => command(client, `BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`)

/** Makes the changes of several operations with the same SQL. Resolves to whether those of each were made. Rejects when none was made, or with 503 when the outcome is unknown. */
export async function changeBatched(client: pg.ClientBase, changes: readonly Fused[]): Promise<boolean[]> {
  const sql = changes[0]?.sql ?? ''
  const params = [encodeSets(changes.map((each) => each.params))]
  const made = (await execute(client, { sql, params, want: 'all' })) as { nth: number }[]
  const numbers = new Set(made.map(({ nth }) => nth))
  return changes.map((_, i) => numbers.has(i))
}

/** Runs operations that read rows and then add some, in one transaction. Resolves to their results; rejects as changeBatched() does. */
export async function recordBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<unknown[]> {
  for (const { op } of jobs) await preparePlans(client, op)
  await begin(client)
  const run = lookups(client)
  // Every operation must have ended before the transaction ends: none may send a statement after it.
  const outcomes = await Promise.all(jobs.map((job) => settled(steps(job, run))))
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  if (errors.length > 0) throw errors.find((error) => error instanceof OAuthError) ?? errors[0]
  await command(client, 'COMMIT')
  return outcomes.map((outcome) => 'value' in outcome && outcome.value)
}

/** Inserts the rows of operations that consist of one INSERT of the same form, all or none. */
export async function appendBatched(client: pg.ClientBase, jobs: readonly Job[]): Promise<void> {
  const rows = jobs.map(firstStatement)
  const [first] = rows
  if (first) await execute(client, rows.length > 1 ? oneInsert(first.sql, rows) : first)
}

const firstStatement = (job: Job): Statement => start(job).next().value as Statement

const INSERT = /^(INSERT INTO \w+ \(([^)]*)\))\s+VALUES \([^)]*\)$/
/** The SQL that does at once what several of the same SQL do, by that SQL. */
const inserts = new Map<string, string>()

/** One INSERT that does what several of the same SQL do. */
function oneInsert(sql: string, rows: readonly Statement[]): Statement {
  let several = inserts.get(sql)
  if (several === undefined) {
    const [, into = '', columns = ''] = INSERT.exec(sql) ?? []
    const types = columns.split(', ').map(typeOf)
    several = `${into} SELECT ${types.map((_, i) => `p${i}`).join(', ')} FROM ${setsOf(types)}`
    inserts.set(sql, several)
  }
  return { sql: several, params: [encodeSets(rows.map(({ params }) => params))], want: 'run' }
}
