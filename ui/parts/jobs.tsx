// The jobs: operations that took longer than a request may.
import { get } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import type { JobAnswer } from '../lib/types.ts'
import { type Column, Table } from './list.tsx'
import { Badge, Card, ProblemNote, Time } from './text.tsx'

const [MOST, EVERY_MS] = [10, 2000]

/** The last jobs. Nothing when there are none. */
export function Jobs() {
  const { data = [], error, busy } = useLoad('jobs', () => get<JobAnswer[]>('/admin/jobs', { limit: MOST }), EVERY_MS)
  if (data.length === 0 && !error) return null
  return (
    <Card title="Jobs">
      <ProblemNote error={error} />
      <Table label="Jobs" columns={COLUMNS} rows={data} keyOf={({ id }) => id} busy={busy} />
    </Card>
  )
}

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
