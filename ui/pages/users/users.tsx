// Users: people who sign in here.

import { call, segment } from '../../lib/api.ts'
import { useGet } from '../../lib/load.ts'
import { go, href } from '../../lib/router.ts'
import type { Stats, UserAnswer } from '../../lib/types.ts'
import type { BulkAction } from '../../parts/bulk.tsx'
import { Entries } from '../../parts/entity.tsx'
import { OLDEST_FIRST } from '../../parts/filters.tsx'
import type { Column } from '../../parts/list.tsx'
import { Badge, Main, Name, Time } from '../../parts/text.tsx'
import { GroupLinks } from '../groups.tsx'
import { ImportButton } from './user_import.tsx'

const COLUMNS: readonly Column<UserAnswer>[] = [
  {
    title: 'User',
    cell: ({ id, email, name, status }) => (
      <Main to={href(['users', id])} name={<Name of={email} or={id} />} below={<Name of={name} />}>
        {status === 'disabled' && <Badge tone="bad">disabled</Badge>}
      </Main>
    ),
  },
  { title: 'Role', cell: ({ role }) => (role === 'admin' ? <Badge tone="accent">admin</Badge> : role) },
  { title: 'Groups', cell: ({ groups }) => <FirstGroups of={groups} /> },
  { title: 'Signs in with', cell: ({ provider }) => (provider === 'local' ? 'password' : 'identity provider') },
  { title: 'Created', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
]

const SHOWN = 3
const FirstGroups = ({ of }: { of: readonly string[] }) => (
  <>
    <GroupLinks of={of.slice(0, SHOWN)} />
    {of.length > SHOWN && <span class="soft"> and {of.length - SHOWN} more</span>}
  </>
)

const BULK: readonly BulkAction<UserAnswer>[] = [
  {
    operation: 'user.disable',
    verb: 'Disable',
    effect: 'They can no longer sign in or refresh. Sessions and refresh tokens end.',
    fits: ({ status }) => status === 'active',
    run: ({ id }) => call('PATCH', `/admin/users/${segment(id)}/disable`),
  },
  {
    operation: 'user.enable',
    verb: 'Enable',
    effect: 'They may sign in again.',
    harmless: true,
    fits: ({ status }) => status === 'disabled',
    run: ({ id }) => call('PATCH', `/admin/users/${segment(id)}/enable`),
  },
]

/** The list of users. */
export function UserList() {
  const stats = useGet<Stats>('/admin/stats')
  return (
    <Entries<UserAnswer>
      title="Users"
      about="People who sign in here and decide what clients may do for them."
      create={{
        label: 'Create user',
        title: 'Create a user',
        operation: 'user.create',
        fields: [
          ...['email', 'name', 'password', 'role', 'groups', 'email_verified'],
          ...['given_name', 'family_name', 'preferred_username', 'locale'],
        ],
        onDone: ({ id }: UserAnswer) => go(href(['users', id])),
      }}
      beside={<ImportButton />}
      none="No user yet"
      path="/admin/users"
      query={{ order: 'newest' }}
      filters={[
        { name: 'q', label: 'Search by email, name or id', search: true },
        { name: 'group', label: 'Group' },
        OLDEST_FIRST,
      ]}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      page={50}
      total={stats.data?.users}
      bulk={BULK}
    >
      A user signs in on the login page when a client asks for access. Machines need none: they use client_credentials.
    </Entries>
  )
}
