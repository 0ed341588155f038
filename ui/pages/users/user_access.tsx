// Which resources a user may use, and why.
import { useState } from 'preact/hooks'
import { useGet } from '../../lib/load.ts'
import { href } from '../../lib/router.ts'
import type { AccessOfUser } from '../../lib/types.ts'
import type { Column } from '../../parts/list.tsx'
import { TableCard } from '../../parts/table_card.tsx'
import { Badge, Lines, Name } from '../../parts/text.tsx'
import { GroupLinks } from '../groups.tsx'

const PAGE = 50

/** The resources that a user may use, page by page. */
export function UserAccess({ path }: { path: string }) {
  const [offset, setOffset] = useState(0)
  const { data, ...read } = useGet<AccessOfUser[]>(`${path}/access`, { limit: PAGE + 1, offset })
  return (
    <TableCard
      title="What this user may use"
      of={{ data: data?.slice(0, PAGE), ...read }}
      none="No resource is registered yet."
      keyOf={({ slug }) => slug}
      columns={COLUMNS}
    >
      {data && (offset > 0 || data.length > PAGE) && (
        <div class="body actions">
          <button type="button" disabled={offset === 0} onClick={() => setOffset(offset - PAGE)}>
            Previous resources
          </button>
          <button type="button" disabled={data.length <= PAGE} onClick={() => setOffset(offset + PAGE)}>
            Next resources
          </button>
        </div>
      )}
    </TableCard>
  )
}

const COLUMNS: readonly Column<AccessOfUser>[] = [
  {
    title: 'Resource',
    cell: ({ slug, display_name }) => (
      <a href={href(['resources', slug])}>
        <Name of={display_name} or={slug} />
      </a>
    ),
  },
  {
    title: 'Allowed',
    cell: ({ allowed }) => <Badge tone={allowed ? 'good' : 'bad'}>{allowed ? 'yes' : 'no'}</Badge>,
  },
  { title: 'Why', cell: (row) => <Why of={row} /> },
  { title: 'Scopes', cell: (row) => <Scopes of={row} /> },
]

function Why({ of: { admitted_by, refused_by, groups } }: { of: AccessOfUser }) {
  if (refused_by === 'user_inactive') return <>The user is disabled.</>
  if (refused_by === 'access') return <>The user is on none of the lists of the resource.</>
  if (refused_by === 'scope_groups') return <>Every scope is only for groups that the user is not in.</>
  if (admitted_by === 'groups')
    return (
      <>
        Member of <GroupLinks of={groups} />.
      </>
    )
  if (admitted_by === 'users') return <>The resource lists this user.</>
  if (admitted_by === 'email_domains') return <>The resource lists the domain of the verified email.</>
  return <>Everyone may use it.</>
}

const Scopes = ({ of: { scopes, missing_scopes } }: { of: AccessOfUser }) => (
  <>
    <Lines of={scopes} />
    {missing_scopes.map(({ name, groups }) => (
      <div key={name} class="soft">
        not <code>{name}</code>, which is only for <GroupLinks of={groups} />
      </div>
    ))}
  </>
)
