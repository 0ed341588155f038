// Groups: the names that users have and resources name.
import { href } from '../lib/router.ts'
import type { GroupAnswer } from '../lib/types.ts'
import { Entries } from '../parts/entity.tsx'
import { Badge, Name } from '../parts/text.tsx'

/** A link to the users of a group. */
export const GroupLink = ({ of }: { of: string }) => (
  <a href={href(['users'], { group: of })}>
    <Name of={of} />
  </a>
)

/** Names of groups, each with a link to its users. */
export const GroupLinks = ({ of, or = 'none' }: { of: readonly string[]; or?: string }) => (
  <>
    {of.length === 0 && <span class="soft">{or}</span>}
    {of.map((name, i) => (
      <span key={name}>
        {i > 0 && ', '}
        <GroupLink of={name} />
      </span>
    ))}
  </>
)

/** The list of groups. */
export const GroupsPage = () => (
  <Entries<GroupAnswer>
    title="Groups"
    about="Groups of users, and the resources that are only for some groups. Operators set the groups of a user, or the identity provider names them at each sign-in."
    none="No group yet"
    path="/admin/groups"
    page={50}
    keyOf={({ name }) => name}
    columns={[
      { title: 'Group', cell: ({ name }) => <GroupLink of={name} /> },
      {
        title: 'Users',
        kind: 'number',
        cell: ({ users, more_users }) =>
          users === 0 ? <Badge tone="warn">no users</Badge> : more_users ? `more than ${users}` : users,
      },
      { title: 'Resources that name it', cell: ({ resources }) => <ResourceLinks of={resources} /> },
    ]}
  >
    Give a user groups on the page of the user, and name them in the access rules of a resource.
  </Entries>
)

const SHOWN = 10
/** The first resources, and how many there are beyond them. */
const ResourceLinks = ({ of }: { of: readonly string[] }) => (
  <>
    {of.length === 0 && <span class="soft">none</span>}
    {of.slice(0, SHOWN).map((slug, i) => (
      <span key={slug}>
        {i > 0 && ', '}
        <a href={href(['resources', slug])}>
          <code>{slug}</code>
        </a>
      </span>
    ))}
    {of.length > SHOWN && <span class="soft"> and {of.length - SHOWN} more</span>}
  </>
)
