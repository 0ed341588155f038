// The last attempts to send events to a webhook or a stream, and the events that wait.
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import type { WebhookAnswer } from '../lib/types.ts'
import { ConfirmButton } from './dialog.tsx'
import type { Column } from './list.tsx'
import { Time } from './text.tsx'
import { say } from './toast.tsx'

type Delivery = WebhookAnswer['deliveries'][number]
type Lag = Pick<WebhookAnswer, 'pending' | 'oldest_pending_at'>

const resultOf = ({ error, status }: Delivery) => error ?? `HTTP ${status}`
const shortResultOf = ({ status }: Delivery) => (status === undefined ? 'no answer' : `HTTP ${status}`)

interface DeliveriesProps {
  of: readonly Delivery[]
  /** The operation that sends an event again. */
  operation: string
  /** The path of the webhook or stream in the admin API. */
  path: string
  onChange: () => void
}
/** The last attempts, and for each event a button that sends it again. */
export const Deliveries = ({ of, operation, path, onChange }: DeliveriesProps) => {
  const redeliver = async (event_id: string) => {
    const { error } = await call<Delivery>('POST', `${path}/redeliver/${segment(event_id)}`)
    if (error) throw new Error(`the receiver did not accept the event: ${error}`)
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
          {of.findIndex(({ event_id }) => event_id === delivery.event_id) === i && (
            <ConfirmButton
              operation={operation}
              label="Send again"
              verb="Send"
              harmless
              title="Send this event again?"
              run={() => redeliver(delivery.event_id)}
              after={onChange}
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
