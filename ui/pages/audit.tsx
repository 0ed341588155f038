// The audit trail: who did what.
import { useState } from 'preact/hooks'
import { sendRequest, withQuery } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import type { Location } from '../lib/router.ts'
import { operations } from '../lib/schema.ts'
import type { AuditEventAnswer } from '../lib/types.ts'
import type { Filter } from '../parts/filters.tsx'
import { type Column, List } from '../parts/list.tsx'
import { Empty, IdLink, Mono, PageHead, ProblemNote, Time } from '../parts/text.tsx'

const TAIL_MS = 2000

/** An action as words: `client_suspended` is "client suspended". */
const inWords = (action: string) => action.replaceAll('_', ' ')
const detailOf = (detail: Record<string, unknown>) =>
  Object.entries(detail)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join('  ')

const COLUMNS: readonly Column<AuditEventAnswer>[] = [
  {
    title: 'What',
    cell: ({ action, detail }) => (
      <>
        <b>{inWords(action)}</b>
        <small>
          <code>{detailOf(detail)}</code>
        </small>
      </>
    ),
  },
  { title: 'Who', cell: ({ actor_id }) => <Mono of={actor_id} or="unknown" /> },
  {
    title: 'Client',
    cell: ({ client_id }) => <IdLink page="clients" id={client_id} />,
  },
  { title: 'From', kind: 'tight', cell: ({ ip }) => <Mono of={ip} or="here" /> },
  { title: 'When', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
]

/** The audit trail. */
export function Audit({ place: { query } }: { place: Location }) {
  const [isLive, setLive] = useState(false)
  const offered = useLoad('operations', operations)
  const actions = offered.data?.get('audit.list')?.query['action']?.enum ?? []
  const filters: readonly Filter[] = [
    { name: 'action', label: 'Any action', options: actions.map((action) => [action, inWords(action)] as const) },
    { name: 'actor_id', label: 'Who: id' },
    { name: 'client_id', label: 'client_id' },
  ]
  return (
    <>
      <PageHead title="Audit" about="Who did what in the last 24 hours. The export contains all events.">
        <button type="button" aria-pressed={isLive} class={isLive ? 'primary' : ''} onClick={() => setLive(!isLive)}>
          {isLive ? 'Following' : 'Follow live'}
        </button>
        <Export query={query} />
      </PageHead>
      <List<AuditEventAnswer>
        label="Audit events"
        path="/admin/audit"
        filters={filters}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        page={50}
        everyMs={isLive ? TAIL_MS : undefined}
        empty={
          <Empty title="No events yet">
            <p>
              Sign-ins, consents, revocations and everything that operators change is listed here, with the person or
              client that did it.
            </p>
          </Empty>
        }
      />
    </>
  )
}

/** Saves the matching events as JSON lines. The key is sent in a header, which a plain link cannot do. */
function Export({ query: { action, actor_id, client_id } }: { query: Record<string, string> }) {
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      const response = await sendRequest('GET', withQuery('/admin/audit/export', { action, actor_id, client_id }))
      const url = URL.createObjectURL(await response.blob())
      const link = document.createElement('a')
      link.href = url
      link.download = 'audit.jsonl'
      link.click()
      setTimeout(() => URL.revokeObjectURL(url), 1000)
      setError(undefined)
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(false)
  }
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void save()}>
        {busy ? 'Exporting…' : 'Export'}
      </button>
      <ProblemNote error={error} />
    </>
  )
}
