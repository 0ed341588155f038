// Operations on groups: the names that users have.
import { all, num, type Op, partsOf, str, valuesOf, where } from '../op.ts'

export interface GroupCount {
  name: string
  /** Number of users in it, at most `cap`. */
  users: number
}

/**
 * Groups that have users, after a name, in the order of the database. Each group costs one lookup in the index, and at most `cap` users of
 * a group are counted. So the cost of a page does not depend on the number of users. PostgreSQL uses the index because of the order, and
 * because it does not know the limit when it plans. Otherwise, with wrong statistics, as after an import, it would read the whole table for
 * each group.
 */
export function* listGroups({ after, limit, cap }: { after?: string; limit: number; cap: number }): Op<GroupCount[]> {
  const later = where(after === undefined ? undefined : ['name > ?', after])
  const rows = yield* all`WITH RECURSIVE named(name, place) AS (
      SELECT MIN(name), 1 FROM user_groups ${later}
      UNION ALL
      SELECT (SELECT MIN(g.name) FROM user_groups g WHERE g.name > named.name), place + 1
      FROM named WHERE name IS NOT NULL AND place < ${limit}
    )
    SELECT name, (SELECT COUNT(*) FROM (SELECT 1 FROM user_groups g WHERE g.name = named.name
      ORDER BY g.created_at, g.user_id LIMIT (SELECT CAST(${cap} AS BIGINT))) AS first) AS users
    FROM named WHERE name IS NOT NULL ORDER BY name`
  return rows.map(({ name, users }) => ({ name: str(name), users: num(users) }))
}

/** The groups of a list that have no users. */
export function* listEmptyGroups({ names }: { names: readonly string[] }): Op<string[]> {
  const empty = new Set<string>()
  for (const some of partsOf(names)) {
    const rows = yield* all`SELECT column1 AS name FROM (${valuesOf(some.map((name) => [name]))}) AS n
      WHERE NOT EXISTS (SELECT 1 FROM user_groups g WHERE g.name = n.column1)`
    for (const { name } of rows) empty.add(str(name))
  }
  return [...empty]
}
