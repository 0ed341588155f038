// The audit trail: who did what.
import { useState } from 'preact/hooks'
import { type QueryParams, sendRequest, withQuery } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { OFFERED_RANGES, sinceOf, timeOf } from '../lib/range.ts'
import { href, type Location } from '../lib/router.ts'
import { operations } from '../lib/schema.ts'
import type { AuditEventAnswer } from '../lib/types.ts'
import { useWork } from '../lib/work.ts'
import { idsOfEvent, inWords, TRAIL_COLUMNS } from '../parts/event_parts.tsx'
import type { Filter } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Empty, PageHead, ProblemNote } from '../parts/text.tsx'

const TAIL_MS = 2000

type Chosen = Readonly<Record<string, string | undefined>>

/** What the list and the export ask for. Issued tokens are a list of their own, unless they are asked for. */
function askedOf({ range, from, to, issued, ...rest }: Chosen): QueryParams {
  // The id of a request contains its time.
  const start = rest['request_id'] ? undefined : sinceOf(range ?? '24h')
  return { ...rest, since: timeOf(from) ?? start, until: timeOf(to), issued: issued === 'with' }
}

/** The audit trail. */
export function Audit({ place: { query } }: { place: Location }) {
  const [isLive, setLive] = useState(false)
  const offered = useLoad('operations', operations)
  const actions = offered.data?.get('audit.list')?.query['action']?.enum ?? []
  const filters: readonly Filter[] = [
    { name: 'q', label: 'Text', search: true },
    { name: 'range', label: '24 hours', options: OFFERED_RANGES },
    { name: 'from', label: 'From', type: 'datetime-local' },
    { name: 'to', label: 'Until', type: 'datetime-local' },
    { name: 'action', label: 'Any action', options: actions.map((action) => [action, inWords(action)] as const) },
    { name: 'actor_id', label: 'Who: id' },
    { name: 'about', label: 'About: id' },
    { name: 'client_id', label: 'client_id' },
    { name: 'address', label: 'Address' },
    { name: 'request_id', label: 'Request' },
    { name: 'issued', label: 'No issued tokens', options: [['with', 'With issued tokens']] },
  ]
  const chosen = Object.fromEntries(filters.map(({ name }) => [name, query[name]]))
  return (
    <>
      <PageHead
        title="Audit"
        about={
          <>
            Who did what. Issued tokens are at <a href={href(['issuances'])}>Issuances</a>.
          </>
        }
      >
        <button type="button" aria-pressed={isLive} class={isLive ? 'primary' : ''} onClick={() => setLive(!isLive)}>
          {isLive ? 'Following' : 'Follow live'}
        </button>
        <Export query={askedOf(chosen)} />
      </PageHead>
      <List<AuditEventAnswer>
        label="Audit events"
        path="/admin/audit"
        filters={filters}
        ask={askedOf}
        columns={TRAIL_COLUMNS}
        keyOf={({ id }) => id}
        named={idsOfEvent}
        page={50}
        everyMs={isLive ? TAIL_MS : undefined}
        empty={
          <Empty title="No events within 24 hours">
            <p>
              Sign-ins, consents, revocations and everything that operators change is listed here, with the person or
              client that did it.
            </p>
            <p>
              <a href={href(['audit'], { range: '30d' })}>Show 30 days</a>
            </p>
          </Empty>
        }
      />
    </>
  )
}

/** Saves the events that are shown, and those of the pages behind, as JSON lines. The key is sent in a header, which a plain link cannot do. */
function Export({ query }: { query: QueryParams }) {
  const { error, busy, run } = useWork()
  const save = async () => {
    const { request_id: _, ...asked } = query
    const response = await sendRequest('GET', withQuery('/admin/audit/export', asked))
    const url = URL.createObjectURL(await response.blob())
    const link = document.createElement('a')
    link.href = url
    link.download = 'audit.jsonl'
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 1000)
  }
  return (
    <>
      <button type="button" disabled={busy || Boolean(query['request_id'])} onClick={() => void run(save)}>
        {busy ? 'Exporting…' : 'Export these'}
      </button>
      <ProblemNote error={error} />
    </>
  )
}
