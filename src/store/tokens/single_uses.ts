// Operations on single-use values: DPoP proofs and assertions.
import { type SingleUse, USED_BEFORE } from '../../records/single_use.ts'
import { all, change, idBytes, idText, num, type Op, str } from '../op.ts'

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
  const added = yield* change(
    'INSERT INTO single_uses (id, kind, hash, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    idBytes(use.id),
    use.kind,
    idBytes(use.hash),
    use.expires_at,
  )
  if (added === 0) throw new UsedBefore(use.kind)
}

/** Every use that has not expired, in the order of creation. `since` is the smallest id that such a use can have. */
export function* listUses({ since, now }: { since: string; now: number }): Op<SingleUse[]> {
  const rows = yield* all(
    'SELECT id, kind, hash, expires_at FROM single_uses WHERE id >= ? AND expires_at > ? ORDER BY id',
    idBytes(since),
    now,
  )
  return rows.map((row) => ({
    id: idText(row.id),
    kind: str(row.kind) as SingleUse['kind'],
    hash: idText(row.hash),
    expires_at: num(row.expires_at),
  }))
}
