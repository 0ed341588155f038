// Audit events as lists show them: names with links in place of ids, and a detail that opens with what changed.
import { words } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { AuditEventAnswer } from '../lib/types.ts'
import { type Column, Table } from './list.tsx'
import { ID_PAGES, NamedId } from './named_id.tsx'
import { Facts, Mono, Time } from './text.tsx'

/** An action as words: `client_suspended` is "client suspended". */
export const inWords = (action: string) => action.replaceAll('_', ' ')

interface Changed {
  field: string
  before: string
  after: string
}
const isChanged = (value: unknown): value is Changed[] => Array.isArray(value)

const Changes = ({ of }: { of: readonly Changed[] }) => (
  <Table
    label="What changed"
    rows={of}
    keyOf={({ field }) => field}
    columns={[
      { title: 'Field', cell: ({ field }) => words(field) },
      { title: 'Before', cell: ({ before }) => <del>{before || 'nothing'}</del> },
      { title: 'After', cell: ({ after }) => <ins>{after || 'nothing'}</ins> },
    ]}
  />
)

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** A line of a detail, for a closed row. */
const lineOf = (detail: AuditEventAnswer['detail']): string =>
  Object.entries(detail)
    .filter(([name, value]) => name !== 'changes' && value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${textOf(value)}`)
    .join('  ')

/** What happened. It opens to everything that the event has. */
const Happened = ({ of: { action, detail, request_id, id } }: { of: AuditEventAnswer }) => {
  const { changes, ...rest } = detail
  return (
    <details>
      <summary>
        <b>{inWords(action)}</b>
        <small>
          <code>{lineOf(detail)}</code>
        </small>
      </summary>
      {isChanged(changes) && <Changes of={changes} />}
      <Facts
        of={[
          ...Object.entries(rest).map(
            ([name, value]) =>
              [
                words(name),
                typeof value === 'string' && ID_PAGES[name] ? (
                  <NamedId key={name} id={value} page={ID_PAGES[name]} />
                ) : (
                  <code key={name}>{textOf(value)}</code>
                ),
              ] as const,
          ),
          request_id !== '' && [
            'Request',
            <a key="request" href={href(['audit'], { request_id })}>
              <code>{request_id}</code>
            </a>,
          ],
          ['Event', <code key="id">{id}</code>],
        ]}
      />
    </details>
  )
}

/** The columns of a list of events. */
export const TRAIL_COLUMNS: readonly Column<AuditEventAnswer>[] = [
  { title: 'What', cell: (event) => <Happened of={event} /> },
  { title: 'Who', cell: ({ actor_id }) => <NamedId id={actor_id} /> },
  { title: 'Client', cell: ({ client_id }) => (client_id ? <NamedId id={client_id} page="clients" /> : '') },
  {
    title: 'From',
    kind: 'tight',
    cell: ({ ip }) => (ip ? <a href={href(['audit'], { address: ip })}>{ip}</a> : <Mono of="" or="here" />),
  },
  { title: 'When', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
]

/** Ids that this service made. Operators, whose names are in the same places, have shorter ones. */
const MADE_HERE = /^[\w-]{20,}$/

/** The ids in an event whose names are shown. */
export const idsOfEvent = ({ actor_id, client_id, detail }: AuditEventAnswer): string[] =>
  [actor_id, client_id, ...Object.keys(ID_PAGES).map((name) => detail[name])].filter(
    (id): id is string => typeof id === 'string' && MADE_HERE.test(id),
  )
