// What a client sent beside what is allowed, and the last stored failures of a client.
import { call, segment } from '../lib/api.ts'
import { explain, stepName } from '../lib/explain.ts'
import { quantity } from '../lib/format.ts'
import { useGet } from '../lib/load.ts'
import type { ClientAnswer, ClientFailureAnswer } from '../lib/types.ts'
import { useChanged } from './changed.ts'
import { ConfirmButton } from './dialog.tsx'
import { Card, Copy, DotItem, Facts, Lines, ProblemNote, Time } from './text.tsx'

type Sent = Pick<ClientFailureAnswer, 'parameter' | 'sent' | 'allowed'>

/** The refused value of a request, and the values that would have been accepted. Nothing without such a value. */
export const SentBeside = ({ of: { parameter, sent, allowed = [] } }: { of: Sent }) =>
  parameter === undefined || sent === undefined ? null : (
    <Facts
      of={[
        [`Sent as ${parameter}`, <code key="sent">{sent || '(nothing)'}</code>],
        ['Allowed', allowed.length > 0 ? <Lines key="allowed" of={allowed} /> : 'none'],
      ]}
    />
  )

const EVERY_MS = 30_000
/** Longer values are stored cut. */
const WHOLE = 1024

/** A redirect URI can be added if it was stored as it was sent. The URIs of a document are changed in the document. */
const addable = ({ registration_source, redirect_uris }: ClientAnswer, failure: ClientFailureAnswer) =>
  registration_source !== 'cimd' &&
  failure.reason === 'unregistered_redirect_uri' &&
  failure.sent !== undefined &&
  failure.sent.length < WHOLE &&
  !/\[redacted\]|\\u\{/.test(failure.sent) &&
  !redirect_uris.includes(failure.sent)
    ? failure.sent
    : undefined

/** The last failures of a client, with what it sent beside what is allowed. */
export function FailuresCard({ client }: { client: ClientAnswer }) {
  const changed = useChanged()
  const { client_id } = client
  const { data, error, reload } = useGet<ClientFailureAnswer[]>('/admin/connections/failures', { client_id }, EVERY_MS)
  const add = (uri: string) =>
    call('PATCH', `/admin/clients/${segment(client_id)}`, { redirect_uris: [...client.redirect_uris, uri] })
  return (
    <Card title="Last failures">
      <ProblemNote error={error} />
      {data?.length === 0 && (
        <p class="body soft">None is stored. A failure is stored at the end of its minute and kept for 90 days.</p>
      )}
      {data && data.length > 0 && (
        <ol class="concerns" aria-label="Last failures">
          {data.map((failure) => {
            const uri = addable(client, failure)
            return (
              <DotItem key={failure.first_at + failure.reason + failure.sent} tone="bad">
                {stepName(failure.step)}: {explain(failure.reason, failure.detail).why}{' '}
                <span class="soft">
                  {quantity(failure.count, 'time')}, last <Time at={failure.last_at} /> from{' '}
                  <code>{failure.address}</code>
                </span>
                <p class="small">
                  The client received <code>{failure.error}</code>: {failure.detail} (<code>{failure.reason}</code>){' '}
                  <Copy text={failure.request_id} what="request id" />
                </p>
                <SentBeside of={failure} />
                {uri !== undefined && (
                  <ConfirmButton
                    operation="client.update"
                    label="Add this URI"
                    verb="Add"
                    title="Register this redirect URI?"
                    run={() => add(uri)}
                    said="The redirect URI is registered."
                    after={() => {
                      changed()
                      reload()
                    }}
                  >
                    <code>{uri}</code> may then receive authorization codes of the client. A request with this client_id
                    proves nothing about its sender, so add only an address that you know to be the client's.
                  </ConfirmButton>
                )}
              </DotItem>
            )
          })}
        </ol>
      )}
    </Card>
  )
}
