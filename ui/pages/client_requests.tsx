// Client requests: the clients that wait for approval, and what operators decided.
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { ClientRequestAnswer } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { useVersion } from '../parts/entity.tsx'
import { type Column, List } from '../parts/list.tsx'
import { Badge, Empty, Name, PageHead, Time } from '../parts/text.tsx'

const PATH = '/admin/client-requests'

const TONES = { waiting: 'warn', approved: 'good', denied: 'bad' } as const

function Decide({ row, verb, after }: { row: ClientRequestAnswer; verb: 'approve' | 'deny'; after: () => void }) {
  const label = verb === 'approve' ? 'Approve' : 'Deny'
  return (
    <ConfirmButton
      operation={`client-request.${verb}`}
      label={label}
      verb={label}
      harmless={verb === 'approve'}
      title={`${label} ${row.client_name || row.client_id}?`}
      run={() => call('POST', `${PATH}/${segment(row.id)}/${verb}`, {})}
      after={after}
    >
      {verb === 'approve'
        ? 'Its users may allow it access. They start again at the application. The name is what the client says of itself: check the client id and the hosts.'
        : 'It is refused at once from now on. Tokens that it has stay valid: revoke them on the page of the client.'}
    </ConfirmButton>
  )
}

const columnsOf = (onChange: () => void): Column<ClientRequestAnswer>[] => [
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
  {
    title: 'Actions',
    kind: 'acts',
    cell: (row) => (
      <>
        {row.status !== 'approved' && <Decide row={row} verb="approve" after={onChange} />}
        {row.status !== 'denied' && <Decide row={row} verb="deny" after={onChange} />}
      </>
    ),
  },
]

/** The list of clients that asked for approval. */
export function ClientRequests() {
  const [version, changed] = useVersion()
  return (
    <>
      <PageHead
        title="Client requests"
        about="With clients.approval, clients that no operator created wait here until an operator approves them."
      />
      <List<ClientRequestAnswer>
        label="Client requests"
        path={PATH}
        version={version}
        keyOf={({ id }) => id}
        columns={columnsOf(changed)}
        empty={
          <Empty title="No client has asked">
            <p>Clients appear here when clients.approval is set and a signed-in user wants to use one.</p>
          </Empty>
        }
      />
    </>
  )
}
