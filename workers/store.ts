// The storage thread: runs a batch of operations as one transaction and answers after its commit.
import { workerData } from 'node:worker_threads'
import { codeOf } from '../src/lib/error.ts'
import { nameThread } from '../src/lib/threads/thread_name.ts'
import { type BatchResult, type Job, openDatabase } from '../src/store/database.ts'
import type { Op, Statement } from '../src/store/op.ts'
import { isRead, type OpName, ops } from '../src/store/operations.ts'
import { answerCalls } from '../src/store/thread.ts'

nameThread('store')
const { file, wal, busyMs } = workerData as { file: string; wal: boolean; busyMs?: number }
const db = openDatabase(file, wal, busyMs)
const statements = new Map<string, ReturnType<typeof db.prepare>>()
/** Changes when another connection commits. */
const versionStatement = db.prepare('PRAGMA data_version').pluck()
let dataVersion = versionStatement.get()
/** Whether another connection has written since the last answer. */
let foreign = false

function prepare(sql: string) {
  const known = statements.get(sql)
  if (known) return known
  const statement = db.prepare(sql)
  statements.set(sql, statement)
  return statement
}

/** Throws for a change in an operation that is named as a read: PostgreSQL runs these without a transaction, and no other instance is notified. */
function execute({ sql, params, want }: Statement, op: OpName): unknown {
  const statement = prepare(sql)
  if (!statement.readonly && isRead(op))
    throw new Error(`the operation ${op} has the name of a read, but it changes rows`)
  if (want === 'one') return statement.get(params)
  if (want === 'all') return statement.all(params)
  return statement.run(params).changes
}

function perform({ op, input }: Job): unknown {
  const operation = (ops[op] as (input: unknown) => Op<unknown>)(input)
  let step = operation.next()
  while (!step.done) {
    const statement = step.value
    try {
      step = operation.next(execute(statement, op))
    } catch (error) {
      step = operation.throw(error)
    }
  }
  return step.value
}

type Outcomes = NonNullable<BatchResult['outcomes']>

/** The whole batch in one transaction. Throws when any operation does. */
function batched(jobs: readonly Job[]): Outcomes {
  prepare(jobs.every((job) => isRead(job.op)) ? 'BEGIN' : 'BEGIN IMMEDIATE').run()
  try {
    noticeForeignWrite()
    const outcomes = jobs.map((job) => ({ value: perform(job) }))
    prepare('COMMIT').run()
    return outcomes
  } catch (error) {
    if (db.inTransaction) prepare('ROLLBACK').run()
    throw error
  }
}

const failed = (error: unknown) => ({
  failed: { code: codeOf(error) ?? 'ERROR', message: (error as Error).message },
})

/** Another process has locked the file. Each job would individually wait as long again, and would block all others. */
const isLocked = (error: unknown) => /^SQLITE_(BUSY|LOCKED)/.test(failed(error).failed.code)

/** Runs every operation in its own transaction, so that one that fails does not fail the others. */
const individually = (jobs: readonly Job[]): Outcomes =>
  jobs.flatMap((job) => {
    try {
      return batched([job])
    } catch (error) {
      return [failed(error)]
    }
  })

/** Part of every transaction: outside of one, reading the version would lock and unlock the file again. */
function noticeForeignWrite(): void {
  const version = versionStatement.get()
  foreign ||= version !== dataVersion
  dataVersion = version
}

function runBatch(batch: string): BatchResult {
  const startedMs = performance.now()
  const jobs = JSON.parse(batch) as Job[]
  foreign = false
  let outcomes: Outcomes
  try {
    outcomes = batched(jobs)
  } catch (error) {
    outcomes = jobs.length === 1 || isLocked(error) ? jobs.map(() => failed(error)) : individually(jobs)
  }
  const isSilent = outcomes.every((outcome) => 'value' in outcome && outcome.value === undefined)
  return { outcomes: isSilent ? undefined : outcomes, foreign, ms: performance.now() - startedMs }
}

answerCalls(runBatch)
