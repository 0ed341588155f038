// Lookups of a batch: those by the same SQL that wait at the same time are one statement.
import type pg from 'pg'
import { codeOf, OAuthError } from '../../lib/error.ts'
import type { Param, Row, Statement } from '../op.ts'
import { execute } from './client.ts'
import { encodeSets, setsOf } from './sets.ts'

/** Runs a statement of an operation. */
export type Run = (statement: Statement) => Promise<unknown>

interface Lookup {
  statement: Statement
  resolve(row: unknown): void
  reject(error: unknown): void
}
interface Found extends Row {
  nth: number
}

/** SQL that the server does not accept with several sets of parameters. */
const separate = new Set<string>()
/** Error codes for such SQL. */
const REFUSED_SQL = /^42/

/** Runs statements on a connection. Lookups that are requested one after the other without a wait between them are sent together. */
export function lookups(client: pg.ClientBase): Run {
  let waiting = new Map<string, Lookup[]>()
  const send = () => {
    const all = waiting
    waiting = new Map()
    for (const same of all.values()) void answer(client, same)
  }
  return (statement) => {
    if (statement.want !== 'one' || statement.forUpdate) return execute(client, statement)
    return new Promise((resolve, reject) => {
      if (waiting.size === 0) queueMicrotask(send)
      const same = waiting.get(statement.sql)
      if (same) same.push({ statement, resolve, reject })
      else waiting.set(statement.sql, [{ statement, resolve, reject }])
    })
  }
}

/** Answers lookups by the same SQL. */
async function answer(client: pg.ClientBase, same: readonly Lookup[]): Promise<void> {
  const alone = () => {
    for (const { statement, resolve, reject } of same) execute(client, statement).then(resolve, reject)
  }
  const together = togetherOf(same.map(({ statement }) => statement))
  if (!together) return alone()
  try {
    const rows = (await execute(client, together)) as Found[]
    const found = new Map(rows.map((row) => [row.nth, row]))
    same.forEach(({ resolve }, i) => {
      resolve(found.get(i))
    })
  } catch (error) {
    if (error instanceof OAuthError) for (const { reject } of same) reject(error)
    else {
      if (REFUSED_SQL.test(codeOf(error) ?? '')) separate.add(together.sql)
      alone()
    }
  }
}

/** The statement that finds the row of each lookup. Undefined when there is none, or only one lookup. */
function togetherOf(same: readonly Statement[]): Statement | undefined {
  const [first, ...others] = same.map(({ params }) => params.map(typeOfValue))
  if (!first || others.length === 0 || others.some((types) => types.join() !== first.join())) return undefined
  const types = first.filter((type) => type !== undefined)
  if (types.length < first.length) return undefined
  let n = 0
  const lookup = same[0]?.sql.replace(/\?/g, () => `v.p${n++}`)
  const sql = `SELECT v.nth, found.* FROM ${setsOf(types)} CROSS JOIN LATERAL (SELECT * FROM (${lookup}) row LIMIT 1) found`
  return separate.has(sql) ? undefined : { sql, params: [encodeSets(same.map(({ params }) => params))], want: 'all' }
}

/** The type of a parameter. Undefined for values that only a comparison with a column gives a type, or that JSON cannot contain. */
function typeOfValue(param: Param): string | undefined {
  if (typeof param === 'string') return param.includes('\0') ? undefined : 'text'
  if (typeof param === 'number') return Number.isSafeInteger(param) ? 'bigint' : undefined
  return param === null ? undefined : 'bytea'
}
