// The busiest clients of the last five minutes, with what stops a client that floods.
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { useGet } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import type { BusyClientAnswer } from '../lib/types.ts'
import { ConfirmButton } from './dialog.tsx'
import { EditButton } from './entity.tsx'
import { acts, type Column } from './list.tsx'
import { TableCard } from './table_card.tsx'
import { Badge } from './text.tsx'

const EVERY_MS = 5000

/** A table of the busiest clients, read every five seconds. */
export const TopClients = () => (
  <TableCard<BusyClientAnswer>
    title="Top clients, five minutes"
    label="Top clients"
    of={useGet('/admin/connections/top', {}, EVERY_MS)}
    keyOf={({ client_id }) => client_id}
    columns={COLUMNS}
  />
)

const COLUMNS: readonly Column<BusyClientAnswer>[] = [
  {
    title: 'Client',
    cell: ({ client_id, client_name, status }) => (
      <>
        <a class="main" href={href(['clients', client_id])}>
          {client_name || client_id}
        </a>{' '}
        {status === 'suspended' && <Badge tone="bad">suspended</Badge>}
      </>
    ),
  },
  { title: 'Requests', kind: 'number', cell: ({ requests }) => number(requests) },
  { title: 'Share', kind: 'number', cell: ({ share }) => `${Math.round(share * 100)} %` },
  { title: 'Tokens', kind: 'number', cell: ({ issued }) => number(issued) },
  { title: '429', kind: 'number', cell: ({ limited }) => number(limited) },
  {
    title: 'Other refusals',
    kind: 'number',
    cell: ({ refused, limited, reason }) => <span title={reason}>{number(refused - limited)}</span>,
  },
  acts((client) => (
    <div class="actions">
      <EditButton
        label="Limit…"
        title={`Limit ${client.client_name || client.client_id}`}
        operation="client.update"
        params={{ client_id: client.client_id }}
        stored={client}
        fields={['limits']}
      />
      {client.status === 'active' && (
        <ConfirmButton
          operation="client.suspend"
          label="Suspend"
          title={`Suspend ${client.client_name || 'this client'}?`}
          run={() => call('PATCH', `/admin/clients/${segment(client.client_id)}/suspend`)}
        >
          It gets no new tokens. Its page has Reactivate, which undoes it.
        </ConfirmButton>
      )}
    </div>
  )),
]
