// Operations that run as one statement on PostgreSQL, several of them at once: as transactions they would cost a round trip for each of
// their statements, and would keep their locks meanwhile. The statement is derived from those of the operation. For each operation it
// makes all of its changes, or none. If it makes none, the operation itself is run and finds the reason.
import type { Job } from '../database.ts'
import type { Op, Param, Row, Statement } from '../op.ts'
import { type InputOf, type OpName, ops } from '../operations.ts'
import { setsOf, typeOf } from './sets.ts'

export interface Fused {
  /** The SQL for several operations with the same statements. It returns the number of each one whose changes it made, as `nth`. */
  sql: string
  /** The parameters of this operation. */
  params: readonly Param[]
  /** The result of the operation when all changes are made. */
  value: unknown
}

/** Milliseconds that a statement waits for a row lock of another transaction. */
export const LOCK_MS = 100

const usesOf = ({ uses = [] }: InputOf<'recordIssuance'>): number => uses.length

/** What decides which statements an operation has. Undefined when it is one statement already. */
const VARIANT: Partial<Record<OpName, (input: never) => string | undefined>> = {
  rotateRefreshToken: ({ issuance }: InputOf<'rotateRefreshToken'>) => `${usesOf(issuance)}`,
  redeemCode: ({ refresh, issuance }: InputOf<'redeemCode'>) => `${usesOf(issuance)} ${refresh !== undefined}`,
  recordIssuance: (issuance: InputOf<'recordIssuance'>) => (issuance.uses ? `${usesOf(issuance)}` : undefined),
}
const known = new Map<string, string>()

/** The row that the operations read: that of a family that is not revoked. */
const LIVE_FAMILY: Row = { revoked_at: null }

/** The one statement of an operation; undefined for an operation that has none. */
export function fuse({ op, input }: Job): Fused | undefined {
  const variant = VARIANT[op]?.(input as never)
  if (variant === undefined) return undefined
  const { statements, value } = rehearse({ op, input })
  const key = `${op} ${variant}`
  const sql = known.get(key) ?? chain(statements)
  known.set(key, sql)
  return { sql, params: statements.flatMap(({ params }) => params), value }
}

/** The statements that an operation yields, and what it returns, when nothing prevents its changes. */
function rehearse({ op, input }: Job): { statements: Statement[]; value: unknown } {
  const operation = (ops[op] as (input: unknown) => Op<unknown>)(input)
  const statements: Statement[] = []
  let step = operation.next()
  for (; !step.done; step = operation.next(step.value.want === 'run' ? 1 : LIVE_FAMILY)) statements.push(step.value)
  return { statements, value: step.value }
}

/**
 * One statement of several. It begins with the parameters of all operations. A statement that may find nothing to do passes on the
 * operations for which it found something.
 */
function chain(statements: readonly Statement[]): string {
  const types = statements.flatMap(({ sql }) => typesIn(sql))
  const parts = [
    `sets AS MATERIALIZED (SELECT v.* FROM set_config('lock_timeout', '${LOCK_MS}', true), ${setsOf(types)})`,
  ]
  let n = 0
  let from = 'sets'
  statements.forEach((statement, i) => {
    const first = n
    const sql = statement.sql.replace(/\?/g, () => `v.p${n++}`)
    const step = stepOf({ ...statement, sql }, from, first)
    parts.push(`s${i} AS (${step.sql})`)
    if (!step.passesOn) return
    from = `s${i}`
    if (step.passesOn === 'ids') {
      parts.push(`t${i} AS (SELECT v.* FROM sets v JOIN s${i} ON s${i}.id = v.p${first})`)
      from = `t${i}`
    }
  })
  return `WITH ${parts.join(', ')} SELECT nth FROM ${from}`
}

/** The types of the parameters of a statement, by the columns that they belong to. */
function typesIn(sql: string): string[] {
  const [, columns] = /^INSERT INTO \w+ \(([^)]*)\)/.exec(sql) ?? []
  const names = columns?.split(', ') ?? [...sql.matchAll(/(\w+)(?:, ''\))? = \?/g)].map(([, name = '']) => name)
  return names.map(typeOf)
}

const INSERT = /^(INSERT .*?)VALUES \(([^)]*)\)( ON CONFLICT DO NOTHING)?$/s

/** A statement for the operations of `from`, and whether it passes on the operations for which it made a change. */
function stepOf(
  { sql, forUpdate }: Statement,
  from: string,
  first: number,
): { sql: string; passesOn?: 'sets' | 'ids' } {
  if (forUpdate)
    return {
      sql: `SELECT v.* FROM ${from} v CROSS JOIN LATERAL (${sql} FOR UPDATE) held WHERE held.revoked_at IS NULL`,
      passesOn: 'sets',
    }
  const [, into, values, orNothing] = INSERT.exec(sql) ?? []
  if (into === undefined)
    return { sql: `${sql.replace(/\sWHERE\s/, ` FROM ${from} v WHERE `)} RETURNING v.*`, passesOn: 'sets' }
  const insert = `${into}SELECT ${values} FROM ${from} v`
  // After other changes it fails instead: they must not be made without it.
  return orNothing && first === 0 ? { sql: `${insert}${orNothing} RETURNING id`, passesOn: 'ids' } : { sql: insert }
}
