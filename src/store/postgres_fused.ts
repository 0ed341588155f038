// Operations that are one statement on PostgreSQL where nothing stands against them: a transaction of several costs a round trip
// for each, and holds its locks meanwhile. Where something does, nothing is done, and the operation itself says what it is.
import type { Job } from './database.ts'
import type { Op, Row, Statement } from './op.ts'
import { type OpName, ops } from './operations.ts'

/**
 * Operations each of whose changes rests on the statement before it having found or touched a row, and on nothing else that it
 * found; with the columns of the row that is held, all of which must be null.
 */
const FUSED: ReadonlyMap<OpName, Row> = new Map<OpName, Row>([
  ['rotateRefreshToken', { revoked_at: null }],
  ['redeemCode', {}],
  ['recordIssuance', {}],
])

export interface Fused {
  /** Returns a row when all of it was done; else nothing was. */
  statement: Statement
  /** What the operation returns then. */
  value: unknown
}

/**
 * The one statement of an operation; undefined for one that has none: because of what it is, or because a later change may touch
 * nothing without failing, so that the ones before would stand without it.
 */
export function fuse({ op, input }: Job): Fused | undefined {
  const expected = FUSED.get(op)
  if (!expected) return undefined
  const operation = (ops[op] as (input: unknown) => Op<unknown>)(input)
  const statements: Statement[] = []
  let step = operation.next()
  for (; !step.done; step = operation.next(step.value.want === 'run' ? 1 : expected)) statements.push(step.value)
  const [, ...rest] = statements.filter(({ hold }) => !hold)
  if (!rest.every(({ sql }) => ADDING.test(sql))) return undefined
  return {
    statement: {
      sql: chained(statements, expected),
      params: statements.flatMap(({ params }) => params),
      want: 'one',
    },
    value: step.value,
  }
}

/** It adds its row, or fails when what makes it do nothing instead is left out. */
const ADDING = /^INSERT (?!.*DO UPDATE)/s
const OR_NOTHING = / ON CONFLICT DO NOTHING$/

const known = new Map<string, string>()

/** Each statement, where the one before it found or touched a row. */
function chained(statements: readonly Statement[], expected: Row): string {
  const key = statements.map(({ sql }) => sql).join(';')
  const made = known.get(key)
  if (made) return made
  const links = statements.map(
    (statement, i) =>
      `s${i} AS (${i > 0 ? link(failing(statement), expected, `EXISTS (SELECT 1 FROM s${i - 1})`) : link(statement, expected, 'true')})`,
  )
  const sql = `WITH ${links.join(', ')} SELECT 1 AS done FROM s${statements.length - 1}`
  known.set(key, sql)
  return sql
}

const failing = (statement: Statement): Statement => ({ ...statement, sql: statement.sql.replace(OR_NOTHING, '') })

function link({ sql, hold }: Statement, expected: Row, condition: string): string {
  if (hold) {
    const columns = Object.keys(expected).map((name) => `held.${name} IS NULL`)
    return `SELECT 1 FROM (${sql} FOR UPDATE) held WHERE ${[condition, ...columns].join(' AND ')}`
  }
  const insert = /^(INSERT .*?)VALUES \(([^)]*)\)(.*)$/s.exec(sql)
  if (insert) return `${insert[1]}SELECT ${insert[2]} WHERE ${condition}${insert[3]} RETURNING 1`
  return `${sql} AND ${condition} RETURNING 1`
}
