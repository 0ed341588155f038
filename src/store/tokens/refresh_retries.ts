// Operations on retries of a refresh request (`oauth.refresh_grace`): the successors of a token, and the token that answers the retry.
import type { RefreshToken } from '../../records/token_family.ts'
import { all, exists, forUpdate, idBytes, idText, num, type Op } from '../op.ts'
import { type NewIssuance, recordIssuance } from './issuances.ts'

/** Whether a refresh token was consumed after a time (epoch seconds), and its successor can be derived. */
export function* isRetried(id: string, since: number): Op<boolean> {
  return yield* exists`refresh_tokens WHERE id = ${idBytes(id)} AND consumed_at > ${since} AND next_id IS NOT NULL`
}

/** Rotations of one family that are followed for a retry. No client comes close to it within an hour, the maximum grace period. */
const MAX_SUCCESSORS = 256

/** The successors of a refresh token in their order; the last one is the newest of the family. At most MAX_SUCCESSORS. */
export function* findSuccessors({ id }: { id: string }): Op<Pick<RefreshToken, 'id' | 'hash' | 'expires_at'>[]> {
  const rows = yield* all`WITH RECURSIVE chain (id, next_id, hash, expires_at, step) AS (
     SELECT id, next_id, hash, expires_at, 0 FROM refresh_tokens WHERE id = ${idBytes(id)}
     UNION ALL SELECT r.id, r.next_id, r.hash, r.expires_at, c.step + 1
       FROM chain c JOIN refresh_tokens r ON r.id = c.next_id WHERE c.step < ${MAX_SUCCESSORS}
   ) SELECT id, hash, expires_at FROM chain WHERE step > 0 ORDER BY step`
  return rows.map((row) => ({ id: idText(row.id), hash: idText(row.hash), expires_at: num(row.expires_at) }))
}

/** Records the token that answers a retry, unless the family is revoked. */
export function* recordRetry(r: { family_id: string; issuance: NewIssuance }): Op<'recorded' | 'revoked'> {
  const family = yield* forUpdate`SELECT revoked_at FROM token_families WHERE id = ${idBytes(r.family_id)}`
  if (!family || family.revoked_at !== null) return 'revoked'
  yield* recordIssuance(r.issuance)
  return 'recorded'
}
