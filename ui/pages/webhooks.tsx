// Webhooks: URLs that receive audit events, with their last deliveries.
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import type { NewWebhookAnswer, WebhookAnswer, WebhookSecret } from '../lib/types.ts'
import { Deliveries, TestButton, waitingColumn } from '../parts/deliveries.tsx'
import { ConfirmButton } from '../parts/dialog.tsx'
import { actionsColumn, Entries } from '../parts/entity.tsx'
import type { Column } from '../parts/list.tsx'
import { ShownOnce } from '../parts/shown_once.tsx'
import { Badge, Lines, Name } from '../parts/text.tsx'

const PATH = '/admin/webhooks'
const FIELDS = ['url', 'events', 'description', 'paused']
type ShownSecret = Pick<NewWebhookAnswer, 'url' | 'secret'>
const TONES = { active: 'good', failing: 'bad', paused: 'warn' } as const

/** The secret of a webhook, once. */
const NewSecret = ({ of: { url, secret }, onClose }: { of: ShownSecret; onClose: () => void }) => (
  <ShownOnce
    title="The secret of the webhook"
    note="The secret is shown only now. If it is lost, rotate it."
    values={[{ label: url, what: 'secret', value: secret }]}
    onClose={onClose}
  />
)

const columnsOf = (onSecret: (of: ShownSecret) => void): Column<WebhookAnswer>[] => [
  {
    title: 'URL',
    cell: ({ url, description }) => (
      <>
        <code>{url}</code>
        <small>
          <Name of={description} or="" />
        </small>
      </>
    ),
  },
  { title: 'Events', cell: ({ events }) => <Lines of={events} /> },
  {
    title: 'Status',
    cell: ({ status, last_error }) => (
      <>
        <Badge tone={TONES[status]}>{status}</Badge>
        {last_error && <small>{last_error}</small>}
      </>
    ),
  },
  waitingColumn,
  {
    title: 'Last delivery',
    cell: ({ id, deliveries }) => (
      <Deliveries of={deliveries} operation="webhook.redeliver" path={`${PATH}/${segment(id)}`} hasPayloads />
    ),
  },
  actionsColumn<WebhookAnswer>({
    edit: { operation: 'webhook.update', title: 'Edit the webhook', fields: FIELDS },
    remove: 'webhook.delete',
    path: PATH,
    what: ({ url }) => url,
    effect: 'Events that wait for it are not sent.',
    more: ({ id, url }) => (
      <>
        <TestButton path={`${PATH}/${segment(id)}`} />
        <ConfirmButton
          operation="webhook.rotateSecret"
          label="Rotate secret"
          verb="Make a new secret"
          harmless
          title="Make a new secret?"
          run={async () => {
            const { secret } = await call<WebhookSecret>('POST', `${PATH}/${segment(id)}/rotate-secret`)
            onSecret({ url, secret })
          }}
        >
          For 24 hours events have a signature of each secret.
        </ConfirmButton>
      </>
    ),
  }),
]

/** The list of webhooks. */
export function Webhooks() {
  const [made, setMade] = useState<ShownSecret>()
  return (
    <>
      <Entries<WebhookAnswer>
        title="Webhooks"
        about="URLs that receive audit events as they happen. Every event is signed, and sent again until it is accepted."
        create={{
          label: 'Create webhook',
          title: 'Create a webhook',
          operation: 'webhook.create',
          fields: FIELDS,
          onDone: setMade,
        }}
        none="No webhook yet"
        path={PATH}
        keyOf={({ id }) => id}
        columns={columnsOf(setMade)}
      >
        A webhook receives the audit events that you choose, for example in a chat or in a SIEM.
      </Entries>
      {made && <NewSecret of={made} onClose={() => setMade(undefined)} />}
    </>
  )
}
