// Approvals (CIBA): what clients ask people for, and what the people decided.
import { call, segment } from '../../lib/api.ts'
import { href } from '../../lib/router.ts'
import type { ApprovalAnswer } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Entries } from '../../parts/entity.tsx'
import type { Filter } from '../../parts/filters.tsx'
import { acts, type Column } from '../../parts/list.tsx'
import { Badge, Time } from '../../parts/text.tsx'

const PATH = '/admin/approvals'

const TONES = { pending: 'warn', granted: 'good', denied: 'bad', expired: '' } as const
const FILTERS: readonly Filter[] = [
  {
    name: 'status',
    label: 'Any status',
    options: Object.entries({ pending: 'Pending', granted: 'Granted', denied: 'Denied', expired: 'Expired' }),
  },
  { name: 'client_id', label: 'client_id' },
  { name: 'user_id', label: 'user_id' },
]

const COLUMNS: readonly Column<ApprovalAnswer>[] = [
  { title: 'Client', cell: ({ client_id }) => <a href={href(['clients', client_id])}>{client_id}</a> },
  {
    title: 'Person',
    cell: ({ user_id }) =>
      user_id === undefined ? 'no such person' : <a href={href(['users', user_id])}>{user_id}</a>,
  },
  { title: 'Message', cell: ({ binding_message }) => binding_message },
  {
    title: 'Asked for',
    cell: ({ resource, scope, authorization_details }) => (
      <>
        {resource && <code>{resource}</code>} {scope}
        {authorization_details && <pre>{JSON.stringify(authorization_details, null, 2)}</pre>}
      </>
    ),
  },
  { title: 'Asked', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
  { title: 'Ends', kind: 'tight', cell: ({ expires_at }) => <Time at={expires_at} /> },
  { title: 'Status', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  acts(
    ({ id, client_id, status }) =>
      status === 'pending' && (
        <ConfirmButton
          operation="approval.deny"
          label="Deny"
          title={`Deny what ${client_id} asks for?`}
          run={() => call('POST', `${PATH}/${segment(id)}/deny`, {})}
        >
          The client learns that it was denied. The person is not asked any more.
        </ConfirmButton>
      ),
  ),
]

/** The list of approvals. */
export const Approvals = () => (
  <Entries<ApprovalAnswer>
    title="Approvals"
    about="What clients ask people for (CIBA). Each is kept until a day after its end."
    none="No client has asked"
    path={PATH}
    filters={FILTERS}
    keyOf={({ id }) => id}
    columns={COLUMNS}
  >
    Requests appear here when ciba.enabled is set and a client asks a person for an approval.
  </Entries>
)
