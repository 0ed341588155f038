// Revocation of token families, and with them of their refresh tokens and access tokens.
import { change, type Op, type Param } from '../op.ts'

type Key = 'id' | 'authorization_id' | 'client_id' | 'consent_id' | 'user_id'
export type EndReason =
  | 'access_refused'
  | 'client_deleted'
  | 'client_request'
  | 'code_reuse'
  | 'consent_revoked'
  | 'emergency'
  | 'refresh_reuse'
  | 'signed_out'

/** Revokes the live families of a key. Returns their number. */
export function* endFamilies(by: Key, key: Param, reason: EndReason, now: number): Op<number> {
  return yield* change(
    `UPDATE token_families SET revoked_at = ?, revoked_reason = ? WHERE ${by} = ? AND revoked_at IS NULL`,
    now,
    reason,
    key,
  )
}
