// The secrets of a client: which are accepted, a new one with an overlap, and the end of single ones.
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import type { ClientWithSecrets, NewSecret } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { FormButton } from '../parts/forms/form.tsx'
import { acts, type Column, Table } from '../parts/list.tsx'
import { Badge, Card, Time } from '../parts/text.tsx'
import { SecretDialog } from './client_parts.tsx'

/** The suggested overlap: long enough to give the client its new secret. */
const USUAL_OVERLAP = '24h'

type Secret = NonNullable<ClientWithSecrets['secrets']>[number]
interface SecretsProps {
  client: ClientWithSecrets
  path: string
}

/** The secrets of a client; nothing for a client that authenticates without one. */
export function SecretsCard({ client, path }: SecretsProps) {
  const [made, setMade] = useState<NewSecret>()
  const { client_id, secrets } = client
  if (!secrets) return null
  return (
    <Card
      title="Secrets"
      aside={
        <FormButton<NewSecret>
          label="Rotate secret"
          title="Make a new secret"
          operation="client.rotateSecret"
          params={{ client_id }}
          fields={['overlap']}
          start={{ overlap: USUAL_OVERLAP }}
          verb="Rotate"
          onDone={setMade}
        />
      }
    >
      {secrets.length === 0 ? (
        <p class="body soft">Every secret has expired. Rotate to make a new one.</p>
      ) : (
        <Table label="Secrets" rows={secrets} keyOf={({ id }) => id} columns={columnsOf(secrets, path)} />
      )}
      {made && <SecretDialog title="The new secret" {...made} onClose={() => setMade(undefined)} />}
    </Card>
  )
}

const columnsOf = (secrets: readonly Secret[], path: string): Column<Secret>[] => [
  {
    title: 'Secret',
    cell: ({ id, expires_at }) => (
      <>
        {expires_at === undefined ? <Badge tone="good">current</Badge> : <Badge>earlier</Badge>} <code>{id}</code>
      </>
    ),
  },
  { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Expires',
    kind: 'tight',
    cell: ({ expires_at }) => (expires_at === undefined ? 'never' : <Time at={expires_at} />),
  },
  { title: 'Last used', kind: 'tight', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  acts(
    // The server refuses to end the last one.
    ({ id }) =>
      secrets.length > 1 && (
        <ConfirmButton
          operation="client.secret.end"
          label="End"
          verb="End it"
          title="End this secret?"
          run={() => call('DELETE', `${path}/secrets/${segment(id)}`)}
        >
          It is refused at once. The other secrets of the client stay as they are. This cannot be undone.
        </ConfirmButton>
      ),
  ),
]
