// Operations that find the tokens of a revocation, for the servers of their resources. They return only unexpired tokens, because no server
// accepts others.
import { all, idBytes, idText, maybeStr, num, type Op, one, type Param, type Row } from './op.ts'

/** A token, and when it expires. */
export interface ConcernedToken {
  id: string
  /** The URI of its resource. */
  resource: string
  expires_at: number
}

/** Maximum number of tokens of one event. */
const MOST = 1000
const COLUMNS = 'i.id, i.resource, i.expires_at'

interface Bounds {
  /** The smallest id that a live token can have. */
  liveFrom: string
  now: number
}

/** A token, or the tokens of a family, and every token that was exchanged from them. */
export function* listConcernedTokens(w: ({ jti: string } | { family: string }) & Bounds): Op<ConcernedToken[]> {
  const first =
    'jti' in w ? { sql: 'SELECT id FROM issuances WHERE id = ?', params: [idBytes(w.jti)] } : yield* familyOf(w)
  if (!first) return []
  const rows = yield* all(
    `WITH RECURSIVE concerned (id) AS (
       SELECT id FROM (${first.sql}) first UNION SELECT i.id FROM issuances i JOIN concerned c ON i.parent_id = c.id WHERE i.id >= ?
     ) SELECT ${COLUMNS} FROM issuances i JOIN concerned c ON c.id = i.id WHERE i.id >= ? AND i.expires_at > ? AND i.resource IS NOT NULL LIMIT ?`,
    ...first.params,
    idBytes(w.liveFrom),
    idBytes(w.liveFrom),
    w.now,
    MOST,
  )
  return rows.map(read)
}

/** The tokens of a family, found by its user. */
function* familyOf({
  family,
  liveFrom,
}: { family: string } & Bounds): Op<{ sql: string; params: Param[] } | undefined> {
  const row = yield* one('SELECT user_id FROM token_families WHERE id = ?', idBytes(family))
  const user_id = maybeStr(row?.user_id ?? null)
  if (user_id === undefined) return undefined
  const sql = 'SELECT id FROM issuances WHERE sub = ? AND id >= ? AND family_id = ?'
  return { sql, params: [user_id, idBytes(liveFrom), idBytes(family)] }
}

/** Whether a user or client has unexpired tokens for one of some resources. */
export function* countTokensFor(
  w: { sub?: string; client_id?: string; resources: readonly string[] } & Bounds,
): Op<number> {
  const who = [
    ...(w.sub === undefined ? [] : [{ sql: 'sub = ?', param: w.sub }]),
    ...(w.client_id === undefined ? [] : [{ sql: 'client_id = ?', param: w.client_id }]),
  ]
  const row = yield* one(
    `SELECT count(*) AS n FROM (SELECT 1 FROM issuances WHERE ${who.map(({ sql }) => `${sql} AND`).join(' ')} id >= ? AND expires_at > ?
       AND resource IN (${w.resources.map(() => '?').join(', ')}) LIMIT 1) found`,
    ...who.map(({ param }) => param),
    idBytes(w.liveFrom),
    w.now,
    ...w.resources,
  )
  return num(row?.n)
}

const read = (row: Row): ConcernedToken => ({
  id: idText(row.id),
  resource: String(row.resource),
  expires_at: num(row.expires_at),
})
