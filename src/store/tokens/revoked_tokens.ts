// Operations that find the tokens of a revocation, for the servers of their resources. They return only unexpired tokens, because no server
// accepts others.
import {
  all,
  type Condition,
  idBytes,
  idText,
  is,
  listed,
  maybeStr,
  num,
  type Op,
  one,
  part,
  type Row,
  raw,
  type Sql,
  selectNumber,
  where,
} from '../op.ts'
import type { Description } from './revocations.ts'

/** A token, and when it expires. */
export interface ConcernedToken {
  id: string
  /** The URI of its resource. */
  resource: string
  expires_at: number
}

const COLUMNS = raw('i.id, i.resource, i.expires_at')

interface Bounds {
  /** Maximum number of tokens to return. */
  limit: number
  /** The smallest id that a live token can have. */
  liveFrom: string
  now: number
}

/** The tokens that other clients got in exchange under the consent of a user to a client. */
interface OfConsent {
  consent_id: string
  user_id: string
  client_id: string
}

/** A token, the tokens of a family, or tokens under a consent, and every token that was exchanged from them. */
export function* listConcernedTokens(
  w: ({ jti: string } | { family: string } | OfConsent) & Bounds,
): Op<ConcernedToken[]> {
  const first =
    'jti' in w
      ? part`SELECT id FROM issuances WHERE id = ${idBytes(w.jti)}`
      : 'family' in w
        ? yield* familyOf(w)
        : ofConsent(w)
  if (!first) return []
  const liveFrom = idBytes(w.liveFrom)
  const rows = yield* all`WITH RECURSIVE concerned (id) AS (
      SELECT id FROM (${first}) first
      UNION SELECT i.id FROM issuances i JOIN concerned c ON i.parent_id = c.id WHERE i.id >= ${liveFrom}
    ) SELECT ${COLUMNS} FROM issuances i JOIN concerned c ON c.id = i.id
      WHERE i.id >= ${liveFrom} AND i.expires_at > ${w.now} AND i.resource IS NOT NULL LIMIT ${w.limit}`
  return rows.map(read)
}

const ofConsent = ({ consent_id, user_id, client_id, liveFrom }: OfConsent & Bounds) =>
  part`SELECT id FROM issuances
    WHERE sub = ${user_id} AND id >= ${idBytes(liveFrom)} AND consent_id = ${idBytes(consent_id)} AND client_id <> ${client_id}`

/** The tokens of a family, found by its user. */
function* familyOf({ family, liveFrom }: { family: string } & Bounds): Op<Sql | undefined> {
  const row = yield* one`SELECT user_id FROM token_families WHERE id = ${idBytes(family)}`
  const user_id = maybeStr(row?.user_id ?? null)
  if (user_id === undefined) return undefined
  return part`SELECT id FROM issuances
    WHERE sub = ${user_id} AND id >= ${idBytes(liveFrom)} AND family_id = ${idBytes(family)}`
}

/** A range of the tokens that match, in the order of their ids. */
interface ExchangeRange extends Bounds {
  /** The tokens from which others were exchanged. `agent` is not used. */
  of: Description
  resources: readonly string[]
  /** Continue after this id. */
  after: string
  /** Maximum number of matching tokens to examine. */
  rows: number
}

/** The tokens for some resources that were exchanged, directly or indirectly, from tokens that match; no `next` at the end. */
export function* listExchangedTokens({
  of: { client_id, user_id, kid, resource, since, until },
  resources,
  after,
  rows,
  now,
  limit,
}: ExchangeRange): Op<{ tokens: ConcernedToken[]; next?: string }> {
  if (resources.length === 0) return { tokens: [] }
  const fits = [
    is('client_id', client_id),
    is('sub', user_id),
    is('kid', kid),
    is('resource', resource),
    since === undefined ? undefined : (['issued_at >= ?', since] as const),
    until === undefined ? undefined : (['issued_at < ?', until] as const),
  ]
  const open = where(['id > ?', idBytes(after)], ...fits)
  const last = yield* one`SELECT id FROM issuances ${open} ORDER BY id LIMIT 1 OFFSET ${rows - 1}`
  const range = where(['id > ?', idBytes(after)], last && ['id <= ?', last.id as Buffer], ...fits)
  const found = yield* all`WITH RECURSIVE concerned (id) AS (
      SELECT i.id FROM issuances i JOIN (SELECT id FROM issuances ${range}) matching ON i.parent_id = matching.id
      UNION SELECT i.id FROM issuances i JOIN concerned c ON i.parent_id = c.id
    ) SELECT ${COLUMNS} FROM issuances i JOIN concerned c ON c.id = i.id
      WHERE i.expires_at > ${now} AND i.resource IN ${listed(resources)} LIMIT ${limit}`
  return { tokens: found.map(read), ...(last ? { next: idText(last.id) } : {}) }
}

/** Whether a user or client has unexpired tokens for one of some resources. */
export function* countTokensFor(
  w: { sub?: string; client_id?: string; resources: readonly string[] } & Omit<Bounds, 'limit'>,
): Op<number> {
  const live: Condition = ['id >= ? AND expires_at > ?', idBytes(w.liveFrom), w.now]
  const fits = where(is('sub', w.sub), is('client_id', w.client_id), live)
  return yield* selectNumber`SELECT count(*) AS n
    FROM (SELECT 1 FROM issuances ${fits} AND resource IN ${listed(w.resources)} LIMIT 1) found`
}

const read = (row: Row): ConcernedToken => ({
  id: idText(row.id),
  resource: String(row.resource),
  expires_at: num(row.expires_at),
})
