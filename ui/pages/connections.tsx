// Client activity: the last steps of each client, and the reasons of failures.
import { explain, stepName } from '../lib/explain.ts'
import { number, quantity } from '../lib/format.ts'
import { learnedName } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import type { ClientActivityAnswer } from '../lib/types.ts'
import { type Column, List } from '../parts/list.tsx'
import { SentBeside } from '../parts/sent.tsx'
import { Badge, Copy, Empty, Name, PageHead, sentence, Time } from '../parts/text.tsx'
import { TopClients } from '../parts/top_clients.tsx'

const EVERY_MS = 5000

const COLUMNS: readonly Column<ClientActivityAnswer>[] = [
  { title: 'Attempt', cell: (trail) => <Attempt trail={trail} /> },
  { title: 'From', kind: 'tight', cell: ({ address }) => <code>{address}</code> },
  { title: 'Last seen', kind: 'tight', cell: ({ steps }) => <Time at={steps.at(-1)?.at} /> },
]

/** What the last five minutes and the last step say. A client whose last step succeeded may still have most of its requests refused. */
function State({ of: { failing, last_5_minutes } }: { of: ClientActivityAnswer }) {
  const { requests, refused } = last_5_minutes
  if (refused > 0)
    return (
      <Badge tone={failing || refused * 4 >= requests ? 'bad' : 'warn'}>
        {number(refused)} of {number(requests)} refused, 5 min
      </Badge>
    )
  return <Badge tone={failing ? 'bad' : ''}>{failing ? 'failing' : 'succeeded'}</Badge>
}

/** An attempt as one line, with its steps below. */
function Attempt({ trail }: { trail: ClientActivityAnswer }) {
  const { client_id, failing, steps } = trail
  const last = steps.at(-1)
  const { why, todo } = explain(last?.reason, last?.detail)
  const named = client_id ? learnedName(client_id)?.name : undefined
  return (
    <>
      {client_id ? (
        <a class={named ? 'main' : 'main mono'} title={client_id} href={href(['clients', client_id])}>
          {named ? <Name of={named} /> : client_id}
        </a>
      ) : (
        <b>No client named</b>
      )}{' '}
      <State of={trail} />
      {failing ? (
        <p class="advice">
          {/[.]$/.test(why) ? why : sentence(why)} <span class="soft">{todo}</span>
        </p>
      ) : (
        <p class="soft">{last && stepName(last.step)}</p>
      )}
      <details>
        <summary class="small">{quantity(steps.length, 'step')}</summary>
        <ol class="steps">
          {steps.map((step) => (
            <li key={step.request_id}>
              <span class={`dot ${step.status >= 400 || step.error ? 'bad' : 'good'}`} />
              <span>
                {stepName(step.step)} {step.count > 1 && <span class="soft">{step.count} times</span>}
              </span>
              <Time at={step.at} />
              {step.error && (
                <div class="why">
                  <code>{step.error}</code> {step.detail} <span class="small">({step.reason})</span>
                  <p>{explain(step.reason, step.detail).todo}</p>
                  <SentBeside of={step} />
                  <Copy text={step.request_id} what="request id" />
                </div>
              )}
            </li>
          ))}
        </ol>
      </details>
    </>
  )
}

/** The attempts of clients, newest first. */
export const Connections = () => (
  <>
    <PageHead
      title="Connections"
      about="The last steps of every client, from the memory of this process, with the reason of each failure and the suggested correction."
    />
    <TopClients />
    <List<ClientActivityAnswer>
      label="Connections"
      path="/admin/connections"
      query={{ limit: 200 }}
      named={({ client_id }) => [client_id]}
      filters={[
        { name: 'client_id', label: 'client_id' },
        { name: 'address', label: 'Address' },
        { name: 'failing', label: 'Any outcome', options: Object.entries({ true: 'Failing', false: 'Succeeding' }) },
      ]}
      columns={COLUMNS}
      keyOf={({ client_id, address }) => `${address} ${client_id}`}
      everyMs={EVERY_MS}
      empty={
        <Empty title="No client activity yet">
          <p>
            Point a client at this server. Every step it takes is shown here within seconds: metadata, registration,
            sign-in, consent, token.
          </p>
        </Empty>
      }
    />
  </>
)
