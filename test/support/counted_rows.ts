// An operation on a SQLite database of a test: what its statements read, and by which plans.
import type { Database } from '../../src/store/database.ts'
import type { Op, Statement } from '../../src/store/op.ts'

/** Runs an operation. Returns its result, and the rows and plans of its statements. */
export function runCounted<R>(db: InstanceType<typeof Database>, op: Op<R>) {
  const rows: unknown[] = []
  const plans: string[] = []
  for (let step = op.next(); ; ) {
    if (step.done) return { result: step.value, rows, plans }
    const { sql, params, want }: Statement = step.value
    if (want === 'run') {
      step = op.next(db.prepare(sql).run(...params).changes)
      continue
    }
    const found = db.prepare(sql).all(...params)
    rows.push(...found)
    // A change that returns rows has run by now.
    plans.push(JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params)))
    step = op.next(want === 'one' ? found[0] : found)
  }
}
