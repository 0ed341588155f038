// Operations on single-use values: DPoP proofs and assertions.
import { type SingleUse, USED_BEFORE } from '../../records/single_use.ts'
import { idBytes, type Op } from '../op.ts'
import { column, plainTable } from '../table.ts'

const USES = plainTable<SingleUse>('single_uses', {
  id: column.id,
  kind: column.text(),
  hash: column.id,
  expires_at: column.int,
})

/** Thrown to roll back an operation whose proof or assertion was used before. */
class UsedBefore extends Error {
  /** It says what was used before, because a request can have a proof and an assertion. */
  readonly code: string
  constructor(kind: SingleUse['kind']) {
    super(`a value was used before: ${kind}`)
    this.code = USED_BEFORE + kind
  }
}

/** Records a use. Throws UsedBefore when it is in the database already, because another process was first. */
export function* recordUse(use: SingleUse): Op<void> {
  if ((yield* USES.create(use)) === 'exists') throw new UsedBefore(use.kind)
}

/** Every use that has not expired, in the order of creation. `since` is the smallest id that such a use can have. */
export const listUses = ({ since, now }: { since: string; now: number }) =>
  USES.list`WHERE id >= ${idBytes(since)} AND expires_at > ${now} ORDER BY id`
