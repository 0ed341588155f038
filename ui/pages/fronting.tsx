// Fronting links: which gateway may exchange its tokens for tokens of which resource behind it.
import { segment } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import type { Link, ResourceAnswer } from '../lib/types.ts'
import { DeleteButton, EditButton, Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { Time } from '../parts/text.tsx'

/** Fronting links. */
export function FrontingPage() {
  const resources = useGet<ResourceAnswer[]>('/admin/resources', { limit: 500 }).data ?? []
  const slugs = resources.map(({ slug, display_name }) => [slug, display_name || slug] as const)
  return (
    <Entries<Link>
      title="Fronting"
      about="A gateway may exchange a token that was issued for it for a token of a resource behind it, scope by scope."
      label="Fronting links"
      create={{
        label: 'Create link',
        title: 'Create a fronting link',
        operation: 'fronting.create',
        fields: ['source', 'target', 'scope_map'],
      }}
      none="No link yet"
      path="/admin/fronting"
      filters={[
        { name: 'source', label: 'Any gateway', options: slugs },
        { name: 'target', label: 'Any target resource', options: slugs },
      ]}
      keyOf={({ source_slug, target_slug }) => `${source_slug}/${target_slug}`}
      columns={COLUMNS}
    >
      Create one when an MCP gateway stands in front of other resources: it maps the gateway's scopes to theirs, so that
      one consent is enough.
    </Entries>
  )
}

const COLUMNS: readonly Column<Link>[] = [
  {
    title: 'Gateway',
    cell: ({ source_slug, target_slug }) => (
      <ol class="chain">
        <Step slug={source_slug} />
        <Step slug={target_slug} />
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
  acts((link) => <LinkActions link={link} />),
]

const Step = ({ slug }: { slug: string }) => (
  <li>
    <div>
      <a href={href(['resources', slug])}>{slug}</a>
    </div>
  </li>
)

const LinkActions = ({ link }: { link: Link }) => (
  <div class="actions">
    <EditButton
      operation="fronting.update"
      title="Edit the scope map"
      params={{ source: link.source_slug, target: link.target_slug }}
      stored={link}
      fields={['scope_map']}
    />
    <DeleteButton
      operation="fronting.delete"
      what={`the link from ${link.source_slug} to ${link.target_slug}`}
      path={`/admin/fronting/${segment(link.source_slug)}/${segment(link.target_slug)}`}
    >
      The gateway can no longer exchange tokens with it. Issued tokens stay valid until they expire.
    </DeleteButton>
  </div>
)
