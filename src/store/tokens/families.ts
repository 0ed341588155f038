// Token families, and their revocation: with them their refresh tokens and access tokens end.
import { change, idBytes, type Op, type Param, raw, selectNumber } from '../op.ts'
import { FAMILIES } from './token_rows.ts'

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
  return yield* change`UPDATE token_families SET revoked_at = ${now}, revoked_reason = ${reason}
    WHERE ${raw(by)} = ${key} AND revoked_at IS NULL`
}

/** A token family in any state. */
export const findFamily = ({ id }: { id: string }) => FAMILIES.find`WHERE id = ${idBytes(id)}`

/** The number of families that are not revoked. */
export const countActiveFamilies = () => selectNumber`SELECT count(*) AS n FROM token_families WHERE revoked_at IS NULL`
