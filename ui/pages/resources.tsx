// Resources: the MCP servers that tokens are for.
import type { ComponentChildren } from 'preact'
import { segment } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import { go, href } from '../lib/router.ts'
import type { ResourceAnswer } from '../lib/types.ts'
import { ActivityCard } from '../parts/activity.tsx'
import { DeleteButton, DeletedLink, EditButton, Entries, ItemPage, RelatedPages, Restorable } from '../parts/entity.tsx'
import { History } from '../parts/history.tsx'
import type { Column } from '../parts/list.tsx'
import { Badge, Card, Caution, Copy, Facts, Lines, Main, Mono, Name, PageHead, Time } from '../parts/text.tsx'
import { GroupLinks } from './groups.tsx'
import { AccessCard } from './resource_access.tsx'

const FIELDS = [
  'slug',
  'uri',
  'backend_kind',
  'broker_provider_slug',
  'display_name',
  'scopes',
  'access_token_typ',
  'access',
  'token_claims',
  'policy',
]

const COLUMNS: readonly Column<ResourceAnswer>[] = [
  {
    title: 'Resource',
    cell: ({ slug, display_name: name }) => (
      <Main to={href(['resources', slug])} name={<Name of={name} or={slug} />} below={<code>{slug}</code>} />
    ),
  },
  { title: 'URI', cell: ({ uri }) => <Mono of={uri} /> },
  {
    title: 'Tokens',
    cell: ({ backend_kind, broker_provider_slug }) =>
      backend_kind === 'mint' ? 'signed here' : `of ${broker_provider_slug}`,
  },
  { title: 'Scopes', kind: 'number', cell: ({ scopes }) => scopes.length },
]

/** The list of resources. */
export const ResourceList = () => (
  <Entries<ResourceAnswer>
    title="Resources"
    about="MCP servers and other APIs that tokens are for. A token is valid for one of them."
    create={{
      label: 'Create resource',
      title: 'Create a resource',
      operation: 'resource.create',
      fields: FIELDS,
      start: { backend_kind: 'mint' },
      onDone: ({ slug }: ResourceAnswer) => go(href(['resources', slug])),
    }}
    beside={<DeletedLink kind="resource" />}
    none="No resource yet"
    path="/admin/resources"
    filters={[
      { name: 'q', label: 'Search by name, slug or URI', search: true },
      {
        name: 'backend_kind',
        label: 'Any kind',
        options: Object.entries({ mint: 'Tokens signed here', broker: 'Tokens of a provider' }),
      },
    ]}
    columns={COLUMNS}
    keyOf={({ id }) => id}
    page={50}
  >
    Register the URI of your MCP server and its scopes. Clients name it with <code>resource=</code>, and your server
    points here from its protected resource metadata.
  </Entries>
)

const from = ['Resources', href(['resources'])] as const

/** The type of its access tokens, with a warning about JWT. */
const typFact = ({ access_token_typ }: ResourceAnswer): [string, ComponentChildren] => [
  'Token type',
  <>
    <code>{access_token_typ}</code>
    {access_token_typ === 'JWT' && (
      <small>
        {' '}
        A resource server cannot tell an access token from an ID token by this type. It must check the audience.
      </small>
    )}
  </>,
]

/** One resource. */
export const ResourceDetail = ({ id: slug }: { id: string }) => (
  <ItemPage<ResourceAnswer> title="Resource" path={`/admin/resources/${segment(slug)}`} from={from}>
    {(resource) => (
      <>
        <ResourceHead resource={resource} />
        <Caution of={resource.warning} />
        <IdentityCard resource={resource} />
        <ActivityCard resource={slug} />
        <AccessCard resource={resource} />
        <ScopesCard of={resource.scopes} />
        <PolicyCard of={resource.policy} />
        <History of={{ about: resource.id }} version={resource.updated_at} />
        <RelatedPages
          of={[
            ['Explain access', href(['try', 'explain'], { resource: resource.uri || resource.slug })],
            ['Its tokens', href(['issuances'], { resource: resource.slug })],
            ['Fronting', href(['fronting'])],
          ]}
        />
      </>
    )}
  </ItemPage>
)

const ResourceHead = ({ resource }: { resource: ResourceAnswer }) => (
  <PageHead
    from={from}
    title={
      <>
        <Name of={resource.display_name} or={resource.slug} />{' '}
        <Badge>
          {resource.backend_kind === 'mint' ? 'tokens signed here' : `tokens of ${resource.broker_provider_slug}`}
        </Badge>
      </>
    }
  >
    <EditButton<ResourceAnswer>
      operation="resource.update"
      title="Edit the resource"
      params={{ id: resource.id }}
      stored={resource}
      fields={FIELDS}
      onChange={({ slug }) => slug !== resource.slug && go(href(['resources', slug]), { replace: true })}
    />
    <DeleteButton
      operation="resource.delete"
      what={resource.display_name || resource.slug}
      path={`/admin/resources/${resource.id}?cascade=true`}
      word={resource.slug}
      revokes={{ resource: resource.uri || resource.slug }}
      onGone={() => go(from[1])}
    >
      Clients can no longer get tokens for it. Its consents and live tokens are revoked, and its fronting links are
      deleted. Clients whose default resource it is are refused until they get another one. The record of its tokens
      stays.
      <Restorable without="consents, tokens and fronting links" />
    </DeleteButton>
  </PageHead>
)

/** The names of the resource, and the texts that its server publishes. */
function IdentityCard({ resource }: { resource: ResourceAnswer }) {
  const config = useGet<{ server: { issuer: string } }>('/admin/system/config')
  const issuer = config.data?.server.issuer
  const metadata = `${issuer}/.well-known/oauth-protected-resource/${resource.slug}`
  const challenge = `WWW-Authenticate: Bearer resource_metadata="${metadata}"`
  // Without the issuer there is no address to copy yet.
  const copied = (text: string, what: string) => (issuer === undefined ? '…' : <Copy text={text} what={what} />)
  return (
    <Card>
      <Facts
        of={[
          ['URI', resource.uri ? <Copy key="uri" text={resource.uri} what="URI" /> : <span class="soft">none</span>],
          ['Slug', <code key="slug">{resource.slug}</code>],
          ...(resource.backend_kind === 'mint' ? [typFact(resource)] : []),
          ['Metadata', copied(metadata, 'metadata URL')],
          ['For its 401 response', copied(challenge, 'challenge')],
          ['Created', <Time key="made" at={resource.created_at} />],
          ['Changed', <Time key="changed" at={resource.updated_at} />],
        ]}
      />
    </Card>
  )
}

const ScopesCard = ({ of: scopes }: { of: ResourceAnswer['scopes'] }) => (
  <Card title="Scopes">
    {scopes.length === 0 ? (
      <p class="body soft">None declared: clients need no scope, and the tokens have none.</p>
    ) : (
      <Facts
        of={scopes.map(({ name, description, descriptions = {}, upstream, groups }) => [
          <code key={name}>{name}</code>,
          <>
            {description || <span class="soft">no description</span>}
            {upstream && <code> → {upstream}</code>}
            {Object.entries(descriptions).map(([tag, text]) => (
              <div key={tag} class="soft">
                <code>{tag}</code> <span lang={tag}>{text}</span>
              </div>
            ))}
            {groups && (
              <small>
                {' '}
                Only for <GroupLinks of={groups} />.
              </small>
            )}
          </>,
        ])}
      />
    )}
  </Card>
)

const PolicyCard = ({ of: { exchange, runtime, connect } }: { of: ResourceAnswer['policy'] }) => (
  <Card title="Policy">
    <Facts
      of={[
        ['May exchange tokens for it', <Lines key="exchange" of={exchange.allowed_client_ids} or="none" />],
        ['Its resource servers', <Lines key="runtime" of={runtime.client_ids} or="none" />],
        connect && [
          'Connect flow may return to',
          <Lines key="connect" of={connect.allowed_return_urls} or="nowhere" />,
        ],
      ]}
    />
  </Card>
)
