// API keys: the keys of the admin API that operators created.
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import type { ApiKeyAnswer, NewApiKeyAnswer } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { ShownOnce } from '../parts/shown_once.tsx'
import { Badge, Time } from '../parts/text.tsx'

const PATH = '/admin/api-keys'

const COLUMNS: readonly Column<ApiKeyAnswer>[] = [
  { title: 'Name', cell: ({ name }) => <span class="main">{name}</span> },
  {
    title: 'Capability',
    cell: ({ capability, provider }) => (
      <>
        <Badge>{capability}</Badge> {provider}
      </>
    ),
  },
  { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Last used',
    kind: 'tight',
    cell: ({ last_used_at }) => (last_used_at === undefined ? 'never' : <Time at={last_used_at} />),
  },
  acts(({ id, name }) => (
    <ConfirmButton
      operation="api-key.revoke"
      label="Revoke"
      verb="Revoke it"
      title={`Revoke the key ${name}?`}
      run={() => call('DELETE', `${PATH}/${segment(id)}`)}
    >
      It is refused from the next request on, and its sessions of this page end. This cannot be undone.
    </ConfirmButton>
  )),
]

/** The list of keys. */
export function ApiKeys() {
  const [made, setMade] = useState<NewApiKeyAnswer>()
  return (
    <>
      <Entries<ApiKeyAnswer>
        title="API keys"
        about="Keys of the admin API, and of identity providers that manage their people over SCIM. The audit trail names the key that made a change. The keys of the configuration are on the page Settings."
        create={{
          label: 'New API key',
          title: 'New API key',
          operation: 'api-key.create',
          fields: ['name', 'capability', 'provider'],
          onDone: setMade,
        }}
        none="No API key yet"
        path={PATH}
        keyOf={({ id }) => id}
        columns={COLUMNS}
      >
        Create one for each person and each machine, so that you can revoke them one by one.
      </Entries>
      {made && <NewKeyDialog of={made} onClose={() => setMade(undefined)} />}
    </>
  )
}

const NewKeyDialog = ({ of: { name, key }, onClose }: { of: NewApiKeyAnswer; onClose: () => void }) => (
  <ShownOnce
    title={`The key ${name}`}
    note="The key is shown only now, because only its hash is stored. If it is lost, create another one."
    values={[{ label: 'key', what: 'key', value: key }]}
    onClose={onClose}
  />
)
