// Clients: the programs that may request tokens.
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { grantOptions } from '../lib/grants.ts'
import { useGet } from '../lib/load.ts'
import { go, href } from '../lib/router.ts'
import type { ClientAnswer, NewClientAnswer, Stats } from '../lib/types.ts'
import type { BulkAction } from '../parts/bulk.tsx'
import { DeletedLink, Entries } from '../parts/entity.tsx'
import { type Filter, OLDEST_FIRST } from '../parts/filters.tsx'
import { FormButton } from '../parts/forms/form.tsx'
import type { Column } from '../parts/list.tsx'
import { Badge, Caution, Main, Name, Time } from '../parts/text.tsx'
import { FLOW, SecretDialog, SOURCES } from './client_parts.tsx'

const FILTERS: readonly Filter[] = [
  { name: 'q', label: 'Search by name or client_id', search: true },
  { name: 'status', label: 'Any status', options: Object.entries({ active: 'Active', suspended: 'Suspended' }) },
  { name: 'source', label: 'Any source', options: Object.entries(SOURCES) },
  { ...OLDEST_FIRST, options: [...(OLDEST_FIRST.options ?? []), ['tokens', 'Most tokens in 24 h first']] },
]

const BULK: readonly BulkAction<ClientAnswer>[] = [
  {
    operation: 'client.suspend',
    verb: 'Suspend',
    effect: 'They get no new tokens and cannot refresh. Reactivating undoes it.',
    fits: ({ status }) => status === 'active',
    run: ({ client_id }) => call('PATCH', `/admin/clients/${segment(client_id)}/suspend`),
  },
  {
    operation: 'client.reactivate',
    verb: 'Reactivate',
    effect: 'They may get tokens again.',
    harmless: true,
    fits: ({ status }) => status === 'suspended',
    run: ({ client_id }) => call('PATCH', `/admin/clients/${segment(client_id)}/reactivate`),
  },
]

/** The host that receives the responses, or that serves the metadata document. */
const hostOf = ({ client_id, redirect_uris }: ClientAnswer): string => {
  const url = /^https?:/.test(client_id) ? client_id : (redirect_uris[0] ?? '')
  return URL.canParse(url) ? new URL(url).host || new URL(url).protocol : ''
}

const Host = ({ of }: { of: string }) =>
  of ? (
    <span class="clip" title={of}>
      {of}
    </span>
  ) : (
    <span class="soft">machine</span>
  )

const COLUMNS: readonly Column<ClientAnswer>[] = [
  {
    title: 'Client',
    cell: ({ client_id, client_name, status, agent, warning }) => (
      <>
        <Main to={href(['clients', client_id])} name={<Name of={client_name} />} below={<code>{client_id}</code>}>
          {status === 'suspended' && <Badge tone="bad">suspended</Badge>}
          {agent && <Badge tone="accent">agent</Badge>}
        </Main>
        <Caution of={warning} />
      </>
    ),
  },
  { title: 'Host', cell: (client) => <Host of={hostOf(client)} /> },
  { title: 'Source', cell: ({ registration_source }) => SOURCES[registration_source] },
  {
    title: 'Last token',
    kind: 'tight',
    cell: ({ last_used_at }) => <Time at={last_used_at} or="none in the record" />,
  },
  { title: 'Tokens, 24 h', kind: 'number', cell: ({ tokens_24h }) => tokens_24h !== undefined && number(tokens_24h) },
]

const FIELDS = [
  ...['client_name', 'agent_description', ...FLOW, 'token_endpoint_auth_method', 'jwks', 'jwks_uri'],
  ...['federated_credentials', 'application_type', 'agent', 'dpop_bound_access_tokens', 'default_resource'],
  ...['limits', 'client_id'],
]

/** The list of clients. */
export function ClientList() {
  const [created, setCreated] = useState<NewClientAnswer>()
  const stats = useGet<Stats>('/admin/stats')
  const done = (client: NewClientAnswer) => {
    if (client.client_secret) setCreated(client)
    else go(href(['clients', client.client_id]))
  }
  const keep = (
    <FormButton<NewClientAnswer>
      label="Add by document"
      title="Add a client by its metadata document"
      operation="client.create"
      verb="Add"
      isMinor
      plain
      fields={['client_id', 'document']}
      onDone={done}
    />
  )
  return (
    <>
      <Entries<ClientAnswer>
        title="Clients"
        about="Programs that may request tokens: applications, agents and machines."
        create={{
          label: 'New client',
          title: 'New client',
          operation: 'client.create',
          fields: FIELDS,
          options: { grant_types: grantOptions('client') },
          onDone: done,
        }}
        beside={
          <>
            <DeletedLink kind="client" />
            {keep}
          </>
        }
        none="No client yet"
        path="/admin/clients"
        query={{ order: 'newest', activity: true }}
        filters={FILTERS}
        columns={COLUMNS}
        keyOf={({ client_id }) => client_id}
        page={50}
        total={stats.data?.clients}
        bulk={BULK}
      >
        Create one for a machine or an application. MCP clients bring a metadata document or register themselves, as{' '}
        <a href={href(['settings'])}>Settings</a> allow.
      </Entries>
      {created && (
        <SecretDialog
          title="The client is created"
          {...created}
          onClose={() => go(href(['clients', created.client_id]))}
        />
      )}
    </>
  )
}
