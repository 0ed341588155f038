// The jobs: operations that took longer than a request may.
import { number } from '../lib/format.ts'
import { useGet } from '../lib/load.ts'
import type { JobAnswer } from '../lib/types.ts'
import type { Column } from './list.tsx'
import { TableCard } from './table_card.tsx'
import { Badge, Time } from './text.tsx'

const [MOST, EVERY_MS] = [10, 2000]

/** The last jobs. Nothing when there are none. */
export const Jobs = () => (
  <TableCard<JobAnswer>
    title="Jobs"
    of={useGet('/admin/jobs', { limit: MOST }, EVERY_MS)}
    keyOf={({ id }) => id}
    columns={COLUMNS}
  />
)

const TONES = { running: undefined, done: 'good', failed: 'bad', interrupted: 'warn' } as const
const COLUMNS: readonly Column<JobAnswer>[] = [
  {
    title: 'Operation',
    cell: ({ operation, actor_id, error_description }) => (
      <>
        <span class="main">
          <code>{operation}</code> by {actor_id}
        </span>
        {error_description && <small>{error_description}</small>}
      </>
    ),
  },
  {
    title: 'State',
    kind: 'tight',
    cell: ({ status, percent }) => <Badge tone={TONES[status]}>{status === 'running' ? `${percent} %` : status}</Badge>,
  },
  { title: 'Rows', kind: 'number', cell: ({ rows }) => number(rows) },
  { title: 'Since', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
]
