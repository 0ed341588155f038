// Client requests: the clients that wait for approval, and what operators decided.
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { ClientRequestAnswer } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { Badge, Name, Time } from '../parts/text.tsx'

const PATH = '/admin/client-requests'

const TONES = { waiting: 'warn', approved: 'good', denied: 'bad' } as const

function Decide({ row, verb }: { row: ClientRequestAnswer; verb: 'approve' | 'deny' }) {
  const label = verb === 'approve' ? 'Approve' : 'Deny'
  return (
    <ConfirmButton
      operation={`client-request.${verb}`}
      label={label}
      harmless={verb === 'approve'}
      title={`${label} ${row.client_name || row.client_id}?`}
      run={() => call('POST', `${PATH}/${segment(row.id)}/${verb}`, {})}
    >
      {verb === 'approve'
        ? 'Its users may allow it access. They start again at the application. The name is what the client says of itself: check the client id and the hosts.'
        : 'It is refused at once from now on. Tokens that it has stay valid: revoke them on the page of the client.'}
    </ConfirmButton>
  )
}

const COLUMNS: readonly Column<ClientRequestAnswer>[] = [
  {
    title: 'Client',
    cell: ({ client_id, client_name }) => (
      <>
        <Name of={client_name} or={client_id} />
        <br />
        <code>{client_id}</code>
      </>
    ),
  },
  { title: 'Returns to', cell: ({ redirect_hosts }) => redirect_hosts.join(', ') },
  { title: 'Resource', cell: ({ resource }) => resource && <code>{resource}</code> },
  {
    title: 'Asked by',
    cell: ({ requested_by }) => <a href={href(['users', requested_by])}>{requested_by}</a>,
  },
  { title: 'Requests', kind: 'number', cell: ({ count }) => number(count) },
  { title: 'Last', kind: 'tight', cell: ({ last_at }) => <Time at={last_at} /> },
  { title: 'Status', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  acts((row) => (
    <>
      {row.status !== 'approved' && <Decide row={row} verb="approve" />}
      {row.status !== 'denied' && <Decide row={row} verb="deny" />}
    </>
  )),
]

/** The list of clients that asked for approval. */
export const ClientRequests = () => (
  <Entries<ClientRequestAnswer>
    title="Client requests"
    about="With clients.approval, clients that no operator created wait here until an operator approves them."
    none="No client has asked"
    path={PATH}
    keyOf={({ id }) => id}
    columns={COLUMNS}
  >
    Clients appear here when clients.approval is set and a signed-in user wants to use one.
  </Entries>
)
