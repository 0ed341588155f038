// Operations that revert an operation whose transaction was committed, but whose answer was lost. The caller received an error and may
// retry, and the retry must not look like a second use. Each of them changes nothing when there is nothing to revert.

import { change, exists, forUpdate, idBytes, type Op } from './op.ts'
import type { NewIssuance } from './tokens/issuances.ts'
import type { recordRetry } from './tokens/refresh_retries.ts'
import type { recordUse } from './tokens/single_uses.ts'
import type { redeemCode, rotateRefreshToken } from './tokens/tokens.ts'

/** Reverts the rotation of a refresh token: the presented token is unused again, its successor is deleted, and the access token is revoked. */
export function* undoRotateRefreshToken(r: Parameters<typeof rotateRefreshToken>[0]): Op<void> {
  yield* forUpdate`SELECT revoked_at FROM token_families WHERE id = ${idBytes(r.next.family_id)}`
  if (!(yield* isLast(r.issuance))) return
  const gone = yield* change`DELETE FROM refresh_tokens WHERE id = ${idBytes(r.next.id)} AND consumed_at IS NULL`
  if (gone === 0) return
  yield* change`UPDATE refresh_tokens SET consumed_at = NULL, next_id = NULL WHERE id = ${idBytes(r.used)}`
  yield* undoRecordIssuance(r.issuance)
}

/** Reverts the redemption of a code: the code is unused again, its family is deleted, and the access token is revoked. */
export function* undoRedeemCode({ family, refresh, issuance }: Parameters<typeof redeemCode>[0]): Op<void> {
  yield* forUpdate`SELECT consumed_at FROM authorization_requests WHERE id = ${idBytes(family.authorization_id)}`
  // A second use at another instance has revoked the family: it stays revoked.
  const made = yield* forUpdate`SELECT revoked_at FROM token_families WHERE id = ${idBytes(family.id)}`
  if (!made || made.revoked_at !== null || !(yield* isLast(issuance))) return
  if (refresh) yield* change`DELETE FROM refresh_tokens WHERE id = ${idBytes(refresh.id)}`
  yield* change`DELETE FROM token_families WHERE id = ${idBytes(family.id)}`
  yield* change`UPDATE authorization_requests SET consumed_at = NULL WHERE id = ${idBytes(family.authorization_id)}`
  yield* undoRecordIssuance(issuance)
}

/** Reverts the answer to a retry: its access token is revoked. */
export function* undoRecordRetry({ issuance }: Parameters<typeof recordRetry>[0]): Op<void> {
  yield* undoRecordIssuance(issuance)
}

/** Reverts an issuance: the token is revoked, and its proof and assertion are unused again. */
export function* undoRecordIssuance({ id, issued_at, uses = [] }: NewIssuance): Op<void> {
  yield* change`UPDATE issuances SET revoked_at = ${issued_at} WHERE id = ${idBytes(id)} AND revoked_at IS NULL`
  for (const use of uses) yield* undoRecordUse(use)
}

/** Reverts the use of a proof or assertion. */
export function* undoRecordUse({ id }: Parameters<typeof recordUse>[0]): Op<void> {
  yield* change`DELETE FROM single_uses WHERE id = ${idBytes(id)}`
}

/** Whether no other token was issued to the family since. If one was issued, a client has received the successor. */
function* isLast({ id, client_id, family_id }: NewIssuance): Op<boolean> {
  if (!family_id) return true
  return !(yield* exists`issuances WHERE client_id = ${client_id} AND id > ${idBytes(id)}
    AND family_id = ${idBytes(family_id)} AND revoked_at IS NULL`)
}
