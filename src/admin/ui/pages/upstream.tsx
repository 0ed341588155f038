// Broker providers, where tokens of others are had from, and fronting links between resources.
import { get, segment } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href, type Place } from '../lib/router.ts'
import type { Link, Provider, Resource } from '../lib/types.ts'
import { DeleteButton, EditButton, Entries, useVersion } from '../parts/entity.tsx'
import { FormButton } from '../parts/form.tsx'
import { Badge, Name, Time } from '../parts/text.tsx'

const SAMPLE = {
  protocol: 'oauth',
  config_data: {
    client_id: '…',
    client_secret_ref: 'CONNECTOR_…',
    authorize_url: 'https://',
    token_url: 'https://',
    response_format: 'standard',
  },
}
const FIELDS = ['slug', 'display_name', 'protocol', 'config_data']

/** Broker providers. */
export function Providers(_: { place: Place }) {
  const [version, changed] = useVersion()
  const create = (
    <FormButton
      label="Create provider"
      title="Create a broker provider"
      operation="provider.create"
      fields={FIELDS}
      start={SAMPLE}
      verb="Create"
      onDone={changed}
    />
  )
  return (
    <Entries<Provider>
      title="Providers"
      about="Where the tokens of broker resources are had from. Secrets are named, never stored."
      create={create}
      none="No provider yet"
      path="/admin/broker-providers"
      version={version}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Provider',
          cell: (provider) => (
            <>
              <b>
                <Name of={provider.display_name} or={provider.slug} />
              </b>
              <small>
                <code>{provider.slug}</code>
              </small>
            </>
          ),
        },
        { title: 'Protocol', cell: ({ protocol }) => <Badge>{protocol}</Badge> },
        {
          title: 'Where',
          cell: ({ config_data: config }) => <code>{String(config['token_url'] ?? config['header_name'] ?? '')}</code>,
        },
        { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: 'Actions',
          kind: 'acts',
          cell: (provider) => (
            <div class="actions">
              <EditButton
                operation="provider.update"
                title="Edit the provider"
                params={{ id: provider.id }}
                stored={provider}
                fields={FIELDS}
                onChange={changed}
              />
              <DeleteButton
                what={provider.display_name || provider.slug}
                path={`/admin/broker-providers/${segment(provider.id)}`}
                onGone={changed}
              >
                Only one that no resource names and no user is connected to can be deleted.
              </DeleteButton>
            </div>
          ),
        },
      ]}
    >
      A provider is an API of somebody else, with OAuth, an API key or a service account. Users connect to it once, and
      a resource of kind <code>broker</code> hands out its tokens.
    </Entries>
  )
}

/** Fronting links. */
export function Fronting(_: { place: Place }) {
  const [version, changed] = useVersion()
  const resources = useLoad('resources', () => get<Resource[]>('/admin/resources', { limit: 500 })).data ?? []
  const slugs = resources.map(({ slug, display_name }) => [slug, display_name || slug] as const)
  const create = (
    <FormButton
      label="Create link"
      title="Let one resource front another"
      operation="fronting.create"
      fields={['source', 'target', 'scope_map']}
      options={{ source: slugs, target: slugs }}
      start={{ scope_map: { 'gateway:use': ['notes:read'] } }}
      verb="Create"
      onDone={changed}
    />
  )
  return (
    <Entries<Link>
      title="Fronting"
      about="A gateway may exchange a token for itself into one for what is behind it, scope by scope."
      label="Fronting links"
      create={create}
      none="No link yet"
      path="/admin/fronting"
      version={version}
      filters={[
        { name: 'source', label: 'Any gateway', options: slugs },
        { name: 'target', label: 'Anything behind', options: slugs },
      ]}
      keyOf={({ source_slug, target_slug }) => `${source_slug}/${target_slug}`}
      columns={[
        {
          title: 'Gateway',
          cell: ({ source_slug, target_slug }) => (
            <ol class="chain">
              <li>
                <div>
                  <a href={href(['resources', source_slug])}>{source_slug}</a>
                </div>
              </li>
              <li>
                <div>
                  <a href={href(['resources', target_slug])}>{target_slug}</a>
                </div>
              </li>
            </ol>
          ),
        },
        {
          title: 'Scopes',
          cell: ({ scope_map }) =>
            Object.entries(scope_map).map(([name, into]) => (
              <div key={name}>
                <code>
                  {name} → {into.join(' ')}
                </code>
              </div>
            )),
        },
        { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: 'Actions',
          kind: 'acts',
          cell: (link) => (
            <div class="actions">
              <EditButton
                operation="fronting.update"
                title="Edit the scope map"
                params={{ source: link.source_slug, target: link.target_slug }}
                stored={link}
                fields={['scope_map']}
                onChange={changed}
              />
              <DeleteButton
                what={`the link from ${link.source_slug} to ${link.target_slug}`}
                path={`/admin/fronting/${segment(link.source_slug)}/${segment(link.target_slug)}`}
                onGone={changed}
              >
                The gateway can exchange no more tokens along it. Tokens that were issued stay.
              </DeleteButton>
            </div>
          ),
        },
      ]}
    >
      Create one when an MCP gateway stands in front of other resources: it maps the gateway's scopes to theirs, so that
      one consent is enough.
    </Entries>
  )
}
