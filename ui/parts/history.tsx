// The history of one record on its own page: who changed what, with the difference.
import { get } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { learnNames } from '../lib/names.ts'
import { DAYS_30, sinceOf } from '../lib/range.ts'
import { href } from '../lib/router.ts'
import type { AuditEventAnswer } from '../lib/types.ts'
import { idsOfEvent, TRAIL_COLUMNS } from './event_parts.tsx'
import { TableCard } from './table_card.tsx'

const MOST = 10

/** The last events about a record, within 30 days. `version` changes when the record did. */
export function History({ of, version }: { of: { about?: string; client_id?: string }; version?: unknown }) {
  const read = async () => {
    const query = { ...of, issued: false, limit: MOST, since: sinceOf(DAYS_30) }
    const events = await get<AuditEventAnswer[]>('/admin/audit', query)
    await learnNames(events.flatMap(idsOfEvent))
    return events
  }
  return (
    <TableCard
      title="History, 30 days"
      label="History"
      aside={<a href={href(['audit'], { ...of, range: DAYS_30 })}>All of it</a>}
      of={useLoad(JSON.stringify([of, version]), read)}
      none="Nothing was changed within 30 days."
      columns={TRAIL_COLUMNS}
      keyOf={({ id }) => id}
    />
  )
}
