// Audit events as lists show them: names with links in place of ids, and a detail that opens with what changed.
import { words } from '../lib/format.ts'
import { learnedName, learnNames } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import type { AuditEventAnswer } from '../lib/types.ts'
import { type Column, Table } from './list.tsx'
import { Facts, Mono, Name, Time } from './text.tsx'

/** An action as words: `client_suspended` is "client suspended". */
export const inWords = (action: string) => action.replaceAll('_', ' ')

const PAGES: Readonly<Record<string, string>> = { client: 'clients', user: 'users', resource: 'resources' }
/** Members that are ids, and the page of each. */
export const ID_PAGES: Readonly<Record<string, string>> = {
  user_id: 'users',
  client_id: 'clients',
  resource_id: 'resources',
  local_subject: 'users',
  jti: 'issuances',
  parent: 'issuances',
}

/** An id as its name, with a link to its page. */
export function NamedId({ id, page }: { id: string | undefined; page?: string }) {
  const named = id ? learnedName(id) : undefined
  const place = named ? PAGES[named.kind] : page
  if (!id || !place) return <Mono of={id} or="unknown" />
  return (
    <a href={href([place, id])} title={id}>
      {named?.name ? <Name of={named.name} /> : <code>{id}</code>}
    </a>
  )
}

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

/** The events of an answer, after the names of their ids have been learned. */
export async function eventsWithNames(answer: unknown): Promise<AuditEventAnswer[]> {
  const events = answer as AuditEventAnswer[]
  await learnNames(
    events.flatMap(({ actor_id, client_id, detail }) => [
      actor_id,
      client_id,
      ...Object.keys(ID_PAGES).map((name) => (typeof detail[name] === 'string' ? String(detail[name]) : undefined)),
    ]),
  )
  return events
}
