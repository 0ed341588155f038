// How each incident finds its subject: paste a token, search for people and clients, choose a key.
import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { call, get } from '../../lib/api.ts'
import { takeHeld } from '../../lib/held.ts'
import { useGet, useLoad } from '../../lib/load.ts'
import { type Pasted, readPasted } from '../../lib/pasted.ts'
import type { ApiKeyAnswer, BusyClientAnswer, Decoded, FindAnswer, Keys } from '../../lib/types.ts'
import { TextField } from '../../parts/forms/text_field.tsx'
import { acts, type Column } from '../../parts/list.tsx'
import { TableCard } from '../../parts/table_card.tsx'
import { Badge, Card, JsonText, Name, ProblemNote, Time } from '../../parts/text.tsx'

export type IncidentKind = 'token' | 'person' | 'client' | 'key'
interface FinderProps {
  onFound: (subject: string, id: string) => void
}

/** What the pasted value is: of a signed token its jti, of an opaque one what the server says it belongs to. */
async function subjectOf(pasted: Pasted): Promise<readonly [subject: string, id: string]> {
  if (pasted.kind === 'token') {
    if (pasted.jti) return ['token', pasted.jti]
    throw new Error('the token has no jti: this server did not make it')
  }
  if (pasted.kind === 'text') return ['token', pasted.text]
  if (pasted.value.startsWith('cs_'))
    throw new Error(
      'it is the secret of a client, of which only a hash is stored: find the client, and rotate its secret',
    )
  const { family_id, api_key_id } = await call<Decoded>('POST', '/admin/try/decode', { token: pasted.value })
  if (family_id) return ['sign_in', family_id]
  if (api_key_id) return ['api_key', api_key_id]
  throw new Error('this server does not know the value: another server made it, or its record was purged')
}

/** The field to paste a token into. It is not a field of a form that the browser keeps. */
function FindToken({ onFound }: FinderProps) {
  const [pasted, setPasted] = useState<Pasted | undefined>(takeHeld)
  const [text, setText] = useState(pasted?.kind === 'secret' ? pasted.value : '')
  const [error, setError] = useState<Error>()
  const find = (event?: SubmitEvent) => {
    event?.preventDefault()
    if (pasted) subjectOf(pasted).then((found) => onFound(...found), setError)
  }
  return (
    <Card title="The token">
      <form class="body fields" onSubmit={find}>
        <TextField
          label="Token, refresh token, API key, or the jti"
          hint="A signed token is decoded in this browser, and only its jti is sent. An opaque value is sent to this server alone, in the body of one request, and is not logged."
          rows={4}
          value={text}
          onText={(value) => {
            setText(value)
            setError(undefined)
            setPasted(value.trim() ? readPasted(value) : undefined)
          }}
        />
        {pasted?.kind === 'token' && <JsonText of={pasted.claims} what="claims" />}
        {pasted?.kind === 'secret' && <p>It looks like {pasted.what}.</p>}
        <ProblemNote error={error} />
        <div class="form-foot">
          <button type="submit" class="primary" disabled={!pasted}>
            See what it reaches
          </button>
        </div>
      </form>
    </Card>
  )
}

/** A search for records of one kind, with a button for each. */
function SearchFor({ kind, label, onPick }: { kind: 'user' | 'client'; label: string; onPick: (id: string) => void }) {
  const [text, setText] = useState('')
  const [asked, setAsked] = useState('')
  const { data, error } = useLoad(asked, async () =>
    asked ? (await get<FindAnswer>('/admin/find', { query: asked })).matches : undefined,
  )
  const found = (data ?? []).flatMap<{ id: string; name: string; status: string }>((match) =>
    match.kind === 'user' && kind === 'user'
      ? [{ id: match.id, name: match.email || match.id, status: match.status }]
      : match.kind === 'client' && kind === 'client'
        ? [{ id: match.client_id, name: match.client_name || match.client_id, status: match.status }]
        : [],
  )
  return (
    <Card title={label}>
      <form
        class="body fields"
        onSubmit={(event) => {
          event.preventDefault()
          setAsked(text.trim())
        }}
      >
        <TextField label={kind === 'user' ? 'Email, name or id' : 'Name or client_id'} value={text} onText={setText} />
        <ProblemNote error={error} />
        <div class="form-foot">
          <button type="submit" class="primary" disabled={!text.trim()}>
            Find
          </button>
        </div>
        {data && found.length === 0 && <p role="status">Nothing was found.</p>}
        {found.map(({ id, name, status }) => (
          <div key={id} class="actions">
            <button type="button" onClick={() => onPick(id)}>
              <Name of={name} />
            </button>
            <Badge>{status}</Badge> <code class="soft">{id}</code>
          </div>
        ))}
      </form>
    </Card>
  )
}

const FindPerson = ({ onFound }: FinderProps) => (
  <SearchFor kind="user" label="The person" onPick={(id) => onFound('user', id)} />
)

const busyColumns = (onFound: FinderProps['onFound']): readonly Column<BusyClientAnswer>[] => [
  { title: 'Client', cell: ({ client_name, client_id }) => <Name of={client_name} or={client_id} /> },
  { title: 'Requests', kind: 'number', cell: ({ requests }) => requests },
  { title: '429', kind: 'number', cell: ({ limited }) => limited },
  acts(({ client_id }) => (
    <button type="button" onClick={() => onFound('client', client_id)}>
      This one
    </button>
  )),
]
const FindClient = ({ onFound }: FinderProps) => (
  <>
    <SearchFor kind="client" label="The client" onPick={(id) => onFound('client', id)} />
    <TableCard
      title="The busiest clients of the last five minutes"
      label="The busiest clients"
      of={useGet<BusyClientAnswer[]>('/admin/connections/top')}
      keyOf={({ client_id }) => client_id}
      columns={busyColumns(onFound)}
    />
  </>
)

interface LeakedKey {
  subject: string
  id: string
  name: string
  status: string
  created_at: string
}
async function readKeys(): Promise<LeakedKey[]> {
  const [signing, api] = await Promise.all([get<Keys>('/admin/keys'), get<ApiKeyAnswer[]>('/admin/api-keys')])
  return [
    ...signing.keys.map(({ kid, status, created_at }) => ({ subject: 'key', id: kid, name: kid, status, created_at })),
    ...api.map(({ id, name, capability, created_at }) => ({
      subject: 'api_key',
      id,
      name,
      created_at,
      status: `API key, ${capability}`,
    })),
  ]
}
const FindKey = ({ onFound }: FinderProps) => (
  <TableCard<LeakedKey>
    title="The key"
    label="Keys"
    of={useLoad('keys', readKeys)}
    none=""
    keyOf={({ id }) => id}
    columns={[
      { title: 'Key', cell: ({ name }) => <code>{name}</code> },
      { title: 'State', kind: 'tight', cell: ({ status }) => <Badge>{status}</Badge> },
      { title: 'Since', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
      acts(({ subject, id }) => (
        <button type="button" onClick={() => onFound(subject, id)}>
          This one
        </button>
      )),
    ]}
  >
    <p class="body soft">
      The keys of the configuration, such as admin.api_key, are not listed: set other values and restart. A pasted API
      key is found by “A token leaked”.
    </p>
  </TableCard>
)

/** The first step of each incident. */
export const FINDERS: Readonly<Record<IncidentKind, ComponentType<FinderProps>>> = {
  token: FindToken,
  person: FindPerson,
  client: FindClient,
  key: FindKey,
}
