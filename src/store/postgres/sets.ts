// One statement for several operations: their parameters are sets, the rows of one JSON parameter. So a batch costs one message, one
// start of the executor and one answer, whatever its size.
import type { Param } from '../op.ts'

/** The types of columns that are not text. A test compares them with the tables. */
const TYPES: Readonly<Record<string, string>> = {
  id: 'bytea',
  family_id: 'bytea',
  consent_id: 'bytea',
  parent_id: 'bytea',
  request_id: 'bytea',
  authorization_id: 'bytea',
  next_id: 'bytea',
  hash: 'bytea',
  agent: 'smallint',
  retry: 'smallint',
}
/** The type of a column by its name. */
export const typeOf = (column: string): string => TYPES[column] ?? (column.endsWith('_at') ? 'bigint' : 'text')

/**
 * The sets as a table `v` with the columns `nth`, `p0`, `p1`... Its condition is always true. The planner estimates that it leaves one
 * row instead of a hundred, so it finds rows of other tables by their index, however few there are when the plan is made.
 */
export const setsOf = (types: readonly string[]): string =>
  `(SELECT * FROM json_to_recordset(?) AS v (nth int, ${types.map((type, i) => `p${i} ${type}`).join(', ')}) WHERE nth = abs(nth)) v`

/** The parameter for setsOf(). */
export const encodeSets = (sets: readonly (readonly Param[])[]): string => JSON.stringify(sets.map(rowOf))

function rowOf(params: readonly Param[], nth: number): Record<string, Param> {
  const row: Record<string, Param> = { nth }
  params.forEach((param, i) => {
    if (param !== null) row[`p${i}`] = typeof param === 'object' ? `\\x${param.toString('hex')}` : param
  })
  return row
}
