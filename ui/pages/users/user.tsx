// One user: data, consents, and how to revoke them.
import { call, get, segment } from '../../lib/api.ts'
import { quantity } from '../../lib/format.ts'
import { useLoad } from '../../lib/load.ts'
import { go, href } from '../../lib/router.ts'
import type { Grants, UserAnswer, UserInFull } from '../../lib/types.ts'
import { ActivityCard } from '../../parts/activity.tsx'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { DeleteButton, EditButton, ItemPage, RelatedPages } from '../../parts/entity.tsx'
import { History } from '../../parts/history.tsx'
import { acts, type Column } from '../../parts/list.tsx'
import { TableCard } from '../../parts/table_card.tsx'
import { Badge, Card, Copy, type Fact, Facts, Name, PageHead, Time } from '../../parts/text.tsx'
import { say } from '../../parts/toast.tsx'
import { GroupLinks } from '../groups.tsx'
import { PasswordLinkButton } from '../password_link.tsx'
import { UserAccess } from './user_access.tsx'
import { UserFactors } from './user_factors.tsx'
import { UserSessions } from './user_sessions.tsx'

const from = ['Users', href(['users'])] as const

/** One user. */
export function UserDetail({ id }: { id: string }) {
  const path = `/admin/users/${segment(id)}`
  return (
    <ItemPage<UserInFull> title="User" path={path} from={from}>
      {(user) => (
        <>
          <PageHead
            from={from}
            title={
              <>
                <Name of={user.email} or={user.id} />{' '}
                <Badge tone={user.status === 'active' ? 'good' : 'bad'}>{user.status}</Badge>
              </>
            }
          >
            <Actions user={user} path={path} />
          </PageHead>
          <Card>
            <Facts of={factsOf(user)} />
          </Card>
          <ActivityCard user_id={user.id} />
          <UserAccess key={JSON.stringify(user)} path={path} />
          <GrantsCard path={path} />
          {user.provider === 'local' && <UserFactors user={user} path={path} />}
          <UserSessions path={path} />
          <History of={{ about: user.id }} version={user.updated_at} />
          <RelatedPages
            of={[
              ['Explain access', href(['try', 'explain'], { user: user.email || user.id })],
              ['Tokens about this user', href(['issuances'], { user_id: user.id })],
              ['Audit events of this user', href(['audit'], { actor_id: user.id })],
            ]}
          />
        </>
      )}
    </ItemPage>
  )
}

/** What applications get with the scope profile, beside the name. */
const PROFILE = [
  ['given_name', 'Given name'],
  ['family_name', 'Family name'],
  ['preferred_username', 'Preferred user name'],
  ['locale', 'Language'],
] as const

const factsOf = (user: UserInFull): readonly Fact[] => [
  ['Name', <Name key="name" of={user.name} />],
  ...PROFILE.flatMap(([member, label]): Fact[] => (user[member] ? [[label, user[member]]] : [])),
  ['ID', <Copy key="id" text={user.id} what="id" />],
  ['Email', user.email_verified ? 'verified' : 'not verified'],
  ['Role', user.role],
  ...groupFacts(user),
  ['Signs in with', user.provider === 'local' ? 'a password' : 'an identity provider'],
  ['Created', <Time key="made" at={user.created_at} />],
  ['Changed', <Time key="changed" at={user.updated_at} />],
]

/** A user of an identity provider has groups of operators and of the provider. Operators change only their own. */
const groupFacts = ({
  provider,
  groups,
  operator_groups = groups,
  provider_groups = [],
}: UserAnswer): readonly Fact[] => [
  ['Groups', <GroupLinks key="groups" of={operator_groups} />],
  provider === 'oidc' && ['Groups from the identity provider', <GroupLinks key="theirs" of={provider_groups} />],
]

function Actions({ user, path }: { user: UserAnswer; path: string }) {
  const logOut = async () => {
    const { tokens_revoked } = await call<{ tokens_revoked: number }>('DELETE', `${path}/tokens`)
    say(`Signed out: ${quantity(tokens_revoked, 'sign-in')} of clients ended.`)
  }
  const isActive = user.status === 'active'
  return (
    <>
      <EditButton
        operation="user.update"
        title="Edit the user, or set a new password"
        params={{ id: user.id }}
        stored={{ ...user, groups: user.operator_groups ?? user.groups }}
        fields={['email', 'email_verified', 'name', ...PROFILE.map(([member]) => member), 'role', 'groups', 'password']}
      />
      {user.provider === 'local' && isActive && <PasswordLinkButton path={path} name={user.email || 'this user'} />}
      <ConfirmButton
        operation="user.forceLogout"
        label="Force logout"
        verb="Sign out everywhere"
        title="Sign this user out everywhere?"
        run={logOut}
      >
        Every browser session and every refresh token of the user ends at once. Access tokens live until they expire.
        The user may sign in again.
      </ConfirmButton>
      <ConfirmButton
        operation={isActive ? 'user.disable' : 'user.enable'}
        label={isActive ? 'Disable' : 'Enable'}
        harmless={!isActive}
        title={`${isActive ? 'Disable' : 'Enable'} ${user.email || 'this user'}?`}
        run={() => call('PATCH', `${path}/${isActive ? 'disable' : 'enable'}`)}
      >
        {isActive
          ? 'The user can no longer sign in or refresh. Sessions and refresh tokens end, and introspection reports the tokens of the user as inactive. Enabling the user does not restore ended sessions.'
          : 'The user may sign in again.'}
      </ConfirmButton>
      <DeleteButton
        operation="user.delete"
        what={user.email || 'this user'}
        path={`${path}?force=true`}
        word={user.email || user.id}
        revokes={{ user_id: user.id }}
        onGone={() => go(from[1])}
      >
        The user, all sessions and all consents are deleted, and the user is removed from the access rules of resources.
        The record of issued tokens stays. This cannot be undone.
      </DeleteButton>
    </>
  )
}

const GrantsCard = ({ path }: { path: string }) => (
  <TableCard
    title="Consents and connections"
    label="Grants"
    of={useLoad(path, () => get<Grants>(`${path}/grants`).then(grantRows))}
    none="Nothing yet. A consent appears here once the user allows a client."
    keyOf={({ id }) => id}
    columns={GRANT_COLUMNS}
  />
)

/** A consent, or a connection to an upstream provider. */
interface GrantRow {
  id: string
  kind: 'consent' | 'broker'
  client: string
  client_href: string
  resource: string
  resource_href: string
  scopes: readonly string[]
  created_at: string
  revoked_at?: string
}

const grantRows = ({ consent_grants, broker_grants }: Grants): GrantRow[] => [
  ...consent_grants.map((each) => ({
    ...each,
    kind: 'consent' as const,
    client: each.client_id,
    client_href: href(['clients', each.client_id]),
    resource: each.resource_slug ?? each.resource_id,
    resource_href: href(['resources', each.resource_id]),
  })),
  ...broker_grants.map((each) => ({
    ...each,
    kind: 'broker' as const,
    client: 'upstream',
    client_href: href(['providers']),
    resource: each.broker_provider_slug || each.broker_provider_id,
    resource_href: href(['providers']),
    scopes: each.scopes_granted,
  })),
]

const CodeLink = ({ to, text }: { to: string; text: string }) => (
  <a href={to}>
    <code>{text}</code>
  </a>
)

const GRANT_COLUMNS: readonly Column<GrantRow>[] = [
  { title: 'Client', cell: ({ client, client_href }) => <CodeLink to={client_href} text={client} /> },
  { title: 'Resource', cell: ({ resource, resource_href }) => <CodeLink to={resource_href} text={resource} /> },
  { title: 'Scope', cell: ({ scopes }) => <code>{scopes.join(' ')}</code> },
  { title: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
  acts((grant) => (grant.revoked_at ? <Badge tone="bad">revoked</Badge> : <RevokeButton of={grant} />)),
]

const RevokeButton = ({ of: { id, kind } }: { of: GrantRow }) => (
  <ConfirmButton
    operation={kind === 'consent' ? 'grant.revokeConsent' : 'grant.revokeBroker'}
    label="Revoke"
    title="Revoke this grant?"
    run={() => call('DELETE', `/admin/grants/${kind}/${segment(id)}`)}
  >
    {kind === 'consent'
      ? 'Every token that depends on it is revoked at once. The user is asked again the next time.'
      : 'The upstream connection ends. Tokens that the provider already issued can be revoked only at the provider.'}
  </ConfirmButton>
)
