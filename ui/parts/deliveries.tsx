// The last attempts to send events to a webhook or a stream, and the events that wait.
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { useGet } from '../lib/load.ts'
import type { PayloadAnswer, TestedWebhook, WebhookAnswer } from '../lib/types.ts'
import { useWork } from '../lib/work.ts'
import { ConfirmButton, Dialog } from './dialog.tsx'
import type { Column } from './list.tsx'
import { OperationButton } from './operation_button.tsx'
import { ProblemNote, Time } from './text.tsx'
import { say } from './toast.tsx'

type Delivery = WebhookAnswer['deliveries'][number]
type Sent = Delivery & { response?: string }
type Lag = Pick<WebhookAnswer, 'pending' | 'oldest_pending_at'>

const resultOf = ({ error, status }: Delivery) => error ?? `HTTP ${status}`
const shortResultOf = ({ status }: Delivery) => (status === undefined ? 'no answer' : `HTTP ${status}`)

interface DeliveriesProps {
  of: readonly Delivery[]
  /** The operation that sends an event again. */
  operation: string
  /** The path of the webhook or stream in the admin API. */
  path: string
  /** Whether the server shows the payload of an event. */
  hasPayloads?: boolean
}
/** The last attempts, and for each event a button that sends it again. */
export const Deliveries = ({ of, operation, path, hasPayloads = false }: DeliveriesProps) => {
  const redeliver = async (event_id: string) => {
    const { error, response } = await call<Sent>('POST', `${path}/redeliver/${segment(event_id)}`)
    if (error) throw new Error(`the receiver did not accept the event: ${error}${response ? `: ${response}` : ''}`)
    say('The receiver accepted the event.')
  }
  const [last] = of
  if (!last) return <span class="soft">none yet</span>
  return (
    <details>
      <summary>
        {shortResultOf(last)}, <Time at={last.at} />
      </summary>
      {of.map((delivery, i) => (
        <div key={`${delivery.event_id} ${delivery.at}`}>
          <code>{delivery.type}</code> {resultOf(delivery)}, <Time at={delivery.at} />{' '}
          {hasPayloads && <PayloadButton path={`${path}/payloads/${segment(delivery.event_id)}`} />}{' '}
          {of.findIndex(({ event_id }) => event_id === delivery.event_id) === i && (
            <ConfirmButton
              operation={operation}
              label="Send again"
              verb="Send"
              harmless
              title="Send this event again?"
              run={() => redeliver(delivery.event_id)}
            >
              The receiver gets the event once more, with the same id.
            </ConfirmButton>
          )}
        </div>
      ))}
    </details>
  )
}

/** The column with the number of events that wait, and the age of the oldest one. */
export const waitingColumn: Column<Lag> = {
  title: 'Waiting',
  kind: 'number',
  cell: ({ pending, oldest_pending_at }) => (
    <>
      {number(pending)}
      {oldest_pending_at && (
        <small>
          since <Time at={oldest_pending_at} />
        </small>
      )}
    </>
  ),
}

const Json = ({ of }: { of: unknown }) => <pre class="small">{JSON.stringify(of, null, 2)}</pre>

function PayloadButton({ path }: { path: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Payload
      </button>
      {isOpen && <PayloadDialog path={path} onClose={() => setOpen(false)} />}
    </>
  )
}

function PayloadDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const { data, error } = useGet<PayloadAnswer>(path)
  return (
    <Dialog title="What the webhook gets" onClose={onClose}>
      <ProblemNote error={error} />
      {data && <Json of={data.payload} />}
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}

/** A button that sends a test event to a webhook, and shows what was sent and answered. */
export function TestButton({ path }: { path: string }) {
  const [tested, setTested] = useState<TestedWebhook>()
  const { error, busy, run } = useWork()
  const send = () => run(() => call<TestedWebhook>('POST', `${path}/test`).then(setTested))
  return (
    <>
      <OperationButton operation="webhook.test" disabled={busy} onClick={() => void send()}>
        Send a test event
      </OperationButton>
      <ProblemNote error={error} />
      {tested && (
        <Dialog
          title={tested.error ? 'The test event was not accepted' : 'The test event was accepted'}
          onClose={() => setTested(undefined)}
        >
          <p>
            {resultOf(tested)}
            {tested.response ? ':' : '.'}
          </p>
          {tested.response && <pre class="small">{tested.response}</pre>}
          <p>Sent:</p>
          <Json of={tested.payload} />
          <button type="button" onClick={() => setTested(undefined)}>
            Close
          </button>
        </Dialog>
      )}
    </>
  )
}
