// Streams of security events for the servers of resources, with their last deliveries.
import { PUSH, STREAM_EVENTS } from '../../src/events/event_types.ts'
import { call, segment } from '../lib/api.ts'
import type { StreamAnswer } from '../lib/types.ts'
import { Deliveries, waitingColumn } from '../parts/deliveries.tsx'
import { ConfirmButton } from '../parts/dialog.tsx'
import { DeleteButton, EditButton, Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { NamedId } from '../parts/named_id.tsx'
import { Badge, Caution, Lines, Name, Time } from '../parts/text.tsx'

const PATH = '/admin/streams'
const FIELDS = ['delivery', 'events_requested', 'description']
const TONES = { enabled: 'good', paused: 'warn', disabled: 'warn' } as const

const pathOf = ({ stream_id }: StreamAnswer) => `${PATH}/${segment(stream_id)}`
const isPushed = ({ delivery }: StreamAnswer) => delivery.method === PUSH
/** The last part of the URI of an event type. */
const shortName = (type: string) => type.slice(type.lastIndexOf('/') + 1)
const OPTIONS = { events_requested: STREAM_EVENTS.map((type) => [type, shortName(type)] as const) }

const Status = ({ of: { status, reason, failing_since, last_error, warning } }: { of: StreamAnswer }) => (
  <>
    <Badge tone={TONES[status]}>{status}</Badge>
    {failing_since && <Badge tone="bad">failing</Badge>}
    {(last_error ?? reason) && <small>{last_error ?? reason}</small>}
    <Caution of={warning} />
  </>
)

const LastDelivery = ({ of }: { of: StreamAnswer }) => {
  if (isPushed(of)) return <Deliveries of={of.deliveries} operation="stream.redeliver" path={pathOf(of)} />
  return of.delivered_at ? (
    <>
      polled, <Time at={of.delivered_at} />
    </>
  ) : (
    <span class="soft">not polled yet</span>
  )
}

const Actions = ({ of }: { of: StreamAnswer }) => {
  const isPaused = of.status !== 'enabled'
  return (
    <div class="actions">
      <ConfirmButton
        operation="stream.verify"
        label="Verify"
        verb="Send"
        harmless
        title="Send a verification event?"
        run={() => call('POST', `${pathOf(of)}/verify`)}
        said="The receiver gets a verification event."
      >
        The receiver gets an event that causes nothing. It shows whether the stream works.
      </ConfirmButton>
      <ConfirmButton
        operation="stream.update"
        label={isPaused ? 'Resume' : 'Pause'}
        harmless
        title={isPaused ? 'Resume the stream?' : 'Pause the stream?'}
        run={() => call('PATCH', pathOf(of), { status: isPaused ? 'enabled' : 'paused' })}
      >
        {isPaused ? 'The events that wait are delivered.' : 'Events wait until the stream is resumed.'}
      </ConfirmButton>
      <EditButton
        operation="stream.update"
        title="Edit the stream"
        fields={FIELDS}
        options={OPTIONS}
        params={{ id: of.stream_id }}
        stored={{ ...of, delivery: isPushed(of) ? of.delivery : { method: of.delivery.method } }}
      />
      <DeleteButton operation="stream.delete" what={`the stream of ${of.aud}`} path={pathOf(of)}>
        Events that wait for it are not delivered.
      </DeleteButton>
    </div>
  )
}

const COLUMNS: readonly Column<StreamAnswer>[] = [
  {
    title: 'Client',
    cell: ({ aud, description }) => (
      <>
        <NamedId page="clients" id={aud} beside={aud} />
        <small>
          <Name of={description} or="" />
        </small>
      </>
    ),
  },
  {
    title: 'Delivery',
    cell: (of) => (isPushed(of) ? <code>{of.delivery.endpoint_url}</code> : 'polled'),
  },
  { title: 'Events', cell: ({ events_delivered }) => <Lines of={events_delivered.map(shortName)} /> },
  { title: 'Status', cell: (of) => <Status of={of} /> },
  waitingColumn,
  { title: 'Last delivery', cell: (of) => <LastDelivery of={of} /> },
  acts((of) => <Actions of={of} />),
]

/** The list of streams. */
export const Streams = () => (
  <Entries<StreamAnswer>
    title="Streams"
    about="Security events for the servers of resources: they refuse revoked tokens at once (OpenID Shared Signals)."
    create={{
      label: 'Create stream',
      title: 'Create a stream',
      operation: 'stream.create',
      fields: ['client_id', ...FIELDS],
      options: OPTIONS,
    }}
    none="No stream yet"
    path={PATH}
    keyOf={({ stream_id }) => stream_id}
    named={({ aud }) => [aud]}
    columns={COLUMNS}
  >
    The server of a resource usually creates its stream itself. You can create one for it here.
  </Entries>
)
