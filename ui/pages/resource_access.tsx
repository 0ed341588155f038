// Who may use a resource, and what each group gets.

import type { ResourceAnswer } from '../lib/types.ts'
import { EditButton } from '../parts/entity.tsx'
import { Table } from '../parts/list.tsx'
import { NamedId, useNames } from '../parts/named_id.tsx'
import { Card, Facts, Lines } from '../parts/text.tsx'
import { GroupLink, GroupLinks } from './groups.tsx'

/** The access rules of a resource. */
export function AccessCard({ resource }: { resource: ResourceAnswer }) {
  const { access, scopes, token_claims } = resource
  const edit = (
    <EditButton
      label="Edit access"
      operation="resource.update"
      title="Edit who may use the resource"
      params={{ id: resource.id }}
      stored={resource}
      fields={['access', 'scopes', 'token_claims']}
    />
  )
  const isOpen = access.mode === 'everyone'
  const groups = groupRows(resource)
  return (
    <Card title="Who may use it" aside={edit}>
      <p class="body">{summaryOf(resource)}</p>
      <Facts
        of={[
          !isOpen && ['Groups', <GroupLinks key="groups" of={access.groups} />],
          !isOpen && ['Users', <Users key="users" of={access.users} />],
          !isOpen && ['Domains of verified emails', <Lines key="domains" of={access.email_domains} />],
          ['Second factor', access.second_factor ? 'required' : 'not required'],
          ['User claims in its tokens', <Lines key="claims" of={token_claims} or="only the id" />],
        ]}
      />
      {groups.length > 0 && (
        <Table
          label="What each group gets"
          rows={groups}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Group', cell: ({ name }) => <GroupLink of={name} /> },
            {
              title: 'May use the resource',
              cell: ({ admits }) => (isOpen || admits ? 'yes' : 'only by another rule'),
            },
            {
              title: 'Scopes of its members',
              cell: ({ gets }) => (scopes.length === 0 ? <span class="soft">none declared</span> : <Lines of={gets} />),
            },
          ]}
        />
      )}
    </Card>
  )
}

function Users({ of }: { of: readonly string[] }) {
  useNames(of)
  return (
    <>
      {of.length === 0 && <span class="soft">none</span>}
      {of.map((id) => (
        <div key={id}>
          <NamedId page="users" id={id} beside={id} />
        </div>
      ))}
    </>
  )
}

function summaryOf({ access: { mode, groups, users, email_domains }, scopes }: ResourceAnswer): string {
  const limited = scopes.some((scope) => scope.groups)
  if (mode === 'everyone')
    return `Everyone who can sign in may use this resource.${limited ? ' Some scopes are only for some groups.' : ''}`
  if (groups.length + users.length + email_domains.length === 0)
    return 'No user may use this resource, because all lists are empty.'
  return 'Only users on one of these lists may use this resource. One list is enough. Clients that act for themselves (client_credentials) are not affected.'
}

/** What the members of each named group get, if they are in no other group. */
function groupRows({ access, scopes }: ResourceAnswer) {
  const listed = access.mode === 'everyone' ? [] : access.groups
  const names = [...new Set([...listed, ...scopes.flatMap(({ groups = [] }) => groups)])].sort()
  return names.map((name) => ({
    name,
    admits: listed.includes(name),
    gets: scopes.filter(({ groups }) => !groups || groups.includes(name)).map((scope) => scope.name),
  }))
}
