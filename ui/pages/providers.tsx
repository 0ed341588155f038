// Broker providers: upstream providers of tokens.
import type { Provider } from '../lib/types.ts'
import { actionsColumn, Entries } from '../parts/entity.tsx'
import { Badge, Caution, Main, Name, Time } from '../parts/text.tsx'

const FIELDS = ['slug', 'display_name', 'protocol', 'config_data']

/** Broker providers. */
export const Providers = () => (
  <Entries<Provider>
    title="Providers"
    about="Upstream providers of tokens for broker resources. Secrets stay in environment variables and are never stored."
    create={{
      label: 'Create provider',
      title: 'Create a broker provider',
      operation: 'provider.create',
      fields: FIELDS,
    }}
    none="No provider yet"
    path="/admin/broker-providers"
    keyOf={({ id }) => id}
    columns={[
      {
        title: 'Provider',
        cell: ({ slug, display_name }) => (
          <Main name={<Name of={display_name} or={slug} />} below={<code>{slug}</code>} />
        ),
      },
      { title: 'Protocol', cell: ({ protocol }) => <Badge>{protocol}</Badge> },
      {
        title: 'Where',
        cell: ({ config_data: config, warning }) => (
          <>
            <code>{String(config['token_url'] ?? config['header_name'] ?? '')}</code>
            <Caution of={warning} />
          </>
        ),
      },
      { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
      actionsColumn<Provider>({
        edit: { operation: 'provider.update', title: 'Edit the provider', fields: FIELDS },
        remove: 'provider.delete',
        path: '/admin/broker-providers',
        what: ({ display_name, slug }) => display_name || slug,
        effect: 'A provider can be deleted only when no resource uses it and no user is connected to it.',
      }),
    ]}
  >
    A provider is an API of another company, with OAuth, an API key or a service account. Users connect to it once, and
    a resource of kind <code>broker</code> hands out its tokens.
  </Entries>
)
