// Reads of the people that a provider manages over SCIM.
import type { ScimAttributes, ScimProvider, ScimUser } from '../../records/scim.ts'
import {
  all,
  type Condition,
  decoded,
  is,
  listed,
  type Op,
  one,
  orNull,
  partsOf,
  type Row,
  raw,
  type Sql,
  selectNumber,
  str,
  where,
} from '../op.ts'
import { column, recordTable } from '../table.ts'
import { hasEmail } from './user_rows.ts'

/** The form in which names are compared. */
export const nameKey = (text: string) => text.toLowerCase()

/** A person without what the account and the groups say. */
export const PEOPLE = recordTable<Omit<ScimUser, 'active' | 'groups'>, keyof ScimAttributes>(
  'scim_users',
  'id',
  {
    id: column.named('user_id', column.text()),
    provider: column.fixed(column.text()),
    userName: column.named('user_name', column.text()),
    externalId: column.named('external_id', column.maybeText()),
    version: column.int,
    created_at: column.fixed(column.int),
    updated_at: column.int,
  },
  {
    user_name_key: { write: ({ userName }) => nameKey(userName) },
    display_key: { write: ({ displayName }) => orNull(displayName && nameKey(displayName)) },
    attributes: {
      read: decoded<ScimAttributes>,
      write: ({ displayName, name, emails }) => JSON.stringify({ displayName, name, emails }),
    },
  },
)
const PERSON = PEOPLE.as('s', '')
const COLUMNS = raw(`${PERSON.columns}, u.status`)
const FROM = raw('scim_users s JOIN users u ON u.id = s.user_id')

const readPerson = (row: Row, groups: ScimUser['groups'] = []): ScimUser => ({
  ...PERSON.read(row),
  active: row.status === 'active',
  groups,
})

/** What people are looked for by. Each attribute is compared as RFC 7643 says: userName and emails in any case. */
export interface ScimUserFilter {
  provider: string
  id?: string
  userName?: string
  externalId?: string
  displayName?: string
  email?: string
}

const conditions = (f: ScimUserFilter): (Condition | undefined)[] => [
  ['s.provider = ?', f.provider],
  is('s.user_id', f.id),
  is('s.user_name_key', f.userName && nameKey(f.userName)),
  is('s.external_id', f.externalId),
  is('s.display_key', f.displayName && nameKey(f.displayName)),
  f.email === undefined
    ? undefined
    : ['EXISTS (SELECT 1 FROM scim_emails e WHERE e.user_id = s.user_id AND e.email_key = ?)', nameKey(f.email)],
]

/** One page of the people of a provider, oldest first, and the number of all that match. */
export function* listScimUsers({
  limit,
  offset,
  ...filter
}: ScimUserFilter & { limit: number; offset: number }): Op<{ total: number; people: ScimUser[] }> {
  const fits = where(...conditions(filter))
  const total = yield* selectNumber`SELECT COUNT(*) AS n FROM ${FROM} ${fits}`
  if (limit === 0 || total === 0) return { total, people: [] }
  const rows = yield* all`SELECT ${COLUMNS} FROM ${FROM} ${fits}
    ORDER BY s.created_at, s.user_id LIMIT ${limit} OFFSET ${offset}`
  const groups = yield* groupsOfPeople(rows.map((row) => str(row.user_id)))
  return { total, people: rows.map((row) => readPerson(row, groups.get(str(row.user_id)))) }
}

/** A person of a provider. */
export function* findScimUser({ id, provider }: { id: string; provider: string }): Op<ScimUser | undefined> {
  const row = yield* one`SELECT ${COLUMNS} FROM ${FROM} WHERE s.user_id = ${id} AND s.provider = ${provider}`
  return row && readPerson(row, (yield* groupsOfPeople([id])).get(id))
}

/** The rows of a query for the parts of a list of ids. */
export function* forIds<R>(ids: readonly string[], query: (some: Sql) => Op<R[]>): Op<R[]> {
  const found: R[][] = []
  for (const some of partsOf(ids)) found.push(yield* query(listed(some)))
  return found.flat()
}

/** The groups of people, by id. */
export function* groupsOfPeople(ids: readonly string[]): Op<Map<string, ScimUser['groups'][number][]>> {
  const rows = yield* forIds(
    ids,
    (some) => all`SELECT m.user_id, g.id, g.name FROM scim_members m JOIN scim_groups g ON g.id = m.group_id
      WHERE m.user_id IN ${some} ORDER BY g.name`,
  )
  const groups = new Map<string, ScimUser['groups'][number][]>()
  for (const { user_id, id, name } of rows) {
    const mine = groups.get(str(user_id)) ?? []
    if (mine.length === 0) groups.set(str(user_id), mine)
    mine.push({ id: str(id), displayName: str(name) })
  }
  return groups
}

/** The people that global token revocation names: those of the provider, provisioned or not. */
export function* findScimSubject(w: {
  provider: Pick<ScimProvider, 'slug' | 'issuer'>
  id?: string
  email?: string
  sub?: string
}): Op<string[]> {
  const {
    provider: { slug, issuer },
    id,
    email,
    sub,
  } = w
  const mine: Condition = ['(s.provider = ? OR (s.provider IS NULL AND u.provider_issuer = ?))', slug, issuer]
  const named: Condition[] = []
  if (id !== undefined) named.push(['u.id = ?', id])
  if (sub !== undefined) named.push(['u.provider_issuer = ? AND u.provider_sub = ?', issuer, sub])
  if (email !== undefined) {
    const [condition, ...keys] = hasEmail(email)
    named.push([`u.${condition}`, ...keys])
    named.push(['s.provider = ? AND s.user_name_key = ?', slug, nameKey(email)])
    named.push([
      'u.id IN (SELECT user_id FROM scim_emails WHERE provider = ? AND email_key = ? AND is_primary = 1)',
      slug,
      nameKey(email),
    ])
  }
  const ids = new Set<string>()
  for (const each of named) {
    const found = where(mine, each)
    const rows = yield* all`SELECT u.id FROM users u LEFT JOIN scim_users s ON s.user_id = u.id ${found}`
    for (const row of rows) ids.add(str(row.id))
  }
  return [...ids]
}
