// Operations on what may be used once: DPoP proofs and assertions.
import type { SingleUse } from '../records/single_use.ts'
import { all, change, idBytes, idText, num, type Op, str } from './op.ts'

/** Thrown to roll back what would rest on something that was used before. */
class UsedBefore extends Error {
  readonly code = 'USED_BEFORE'
  constructor() {
    super('it was used before')
  }
}

/** Remembers a use. Throws UsedBefore when the index of the database knows it: one more process was first. */
export function* recordUse(use: SingleUse): Op<void> {
  const added = yield* change(
    'INSERT INTO single_uses (id, kind, hash, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    idBytes(use.id),
    use.kind,
    idBytes(use.hash),
    use.expires_at,
  )
  if (added === 0) throw new UsedBefore()
}

/** Every use that still counts, in the order it was made; `since` is the id floor of the oldest that can. */
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
