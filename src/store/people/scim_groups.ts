// Operations on the groups that a provider manages over SCIM. The names of the groups of a person are the provider groups of the user.
import { isDeepStrictEqual } from 'node:util'
import type { ScimGroup } from '../../records/scim.ts'
import { groupsOf, nameChange, type User } from '../../records/user.ts'
import {
  all,
  type Condition,
  change,
  exists,
  insertRows,
  is,
  listed,
  type Op,
  partsOf,
  selectNumber,
  str,
  where,
} from '../op.ts'
import { column, plainTable } from '../table.ts'
import { forIds, groupsOfPeople, nameKey } from './scim_people.ts'
import type { ScimChange } from './scim_users.ts'
import { addGroups, USERS, writeProviderGroups } from './user_rows.ts'

const GROUPS = plainTable<ScimGroup>(
  'scim_groups',
  {
    id: column.text(),
    provider: column.text(),
    displayName: column.named('name', column.text()),
    externalId: column.named('external_id', column.maybeText()),
    created_at: column.int,
    updated_at: column.int,
  },
  { name_key: { write: ({ displayName }) => nameKey(displayName) } },
)

export interface ScimGroupFilter {
  provider: string
  id?: string
  displayName?: string
  externalId?: string
  member?: string
}

const conditions = (f: ScimGroupFilter): (Condition | undefined)[] => [
  ['provider = ?', f.provider],
  is('id', f.id),
  is('name_key', f.displayName && nameKey(f.displayName)),
  is('external_id', f.externalId),
  f.member === undefined
    ? undefined
    : ['EXISTS (SELECT 1 FROM scim_members m WHERE m.group_id = scim_groups.id AND m.user_id = ?)', f.member],
]

/** One page of the groups of a provider, oldest first, and the number of all that match. */
export function* listScimGroups({
  limit,
  offset,
  ...filter
}: ScimGroupFilter & { limit: number; offset: number }): Op<{ total: number; groups: ScimGroup[] }> {
  const fits = where(...conditions(filter))
  const total = yield* selectNumber`SELECT COUNT(*) AS n FROM scim_groups ${fits}`
  if (limit === 0 || total === 0) return { total, groups: [] }
  const groups = yield* GROUPS.list`${fits} ORDER BY created_at, id LIMIT ${limit} OFFSET ${offset}`
  return { total, groups }
}

/** A group of a provider. */
export function* findScimGroup({ id, provider }: { id: string; provider: string }): Op<ScimGroup | undefined> {
  return (yield* listScimGroups({ id, provider, limit: 1, offset: 0 })).groups[0]
}

/** The ids of the members of groups, by group. Undefined when they are more than `most` together. */
export function* listScimMembers(w: {
  ids: readonly string[]
  most: number
}): Op<Record<string, string[]> | undefined> {
  const { ids, most } = w
  const members: Record<string, string[]> = {}
  let found = 0
  for (const id of ids) {
    const rows = yield* all`SELECT m.user_id FROM scim_members m JOIN users u ON u.id = m.user_id
      WHERE m.group_id = ${id} ORDER BY m.user_id LIMIT ${most - found + 1}`
    found += rows.length
    if (found > most) return undefined
    members[id] = rows.map(({ user_id }) => str(user_id))
  }
  return members
}

/** A change of the members of a group. `clear` removes all of them. */
export type MemberStep = { add: readonly string[] } | { remove: readonly string[] } | { clear: true }

interface GroupChange {
  id: string
  provider: string
  displayName?: string
  /** Empty to remove it. */
  externalId?: string
  steps: readonly MemberStep[]
  now: number
}

/**
 * Locks the groups of a provider: two changes never compute the groups of one person at the same time. From the first change on, the groups
 * claim of the provider is not read.
 */
function* lockProvider(provider: string, now: number): Op<void> {
  yield* change`INSERT INTO scim_providers (provider, groups_since) VALUES (${provider}, ${now}) ON CONFLICT (provider)
   DO UPDATE SET groups_since = COALESCE(scim_providers.groups_since, excluded.groups_since)`
}

const isTaken = (provider: string, displayName: string, id: string) =>
  exists`scim_groups WHERE provider = ${provider} AND name_key = ${nameKey(displayName)} AND id <> ${id}`

/** Adds a group with members. `displayName` when another group has the name. */
export function* createScimGroup(w: { group: ScimGroup; members: readonly string[] }): Op<ScimChange | 'displayName'> {
  const { group, members } = w
  const { id, provider, displayName, created_at: now } = group
  yield* lockProvider(provider, now)
  if (yield* isTaken(provider, displayName, id)) return 'displayName'
  yield* GROUPS.add({ ...group, updated_at: now })
  const people = yield* changeMembers({ id, provider, steps: [{ add: members }] })
  return { id, events: [...(yield* changePeople(people, provider, now)), told('created', group)] }
}

/** Changes a group that exists. Undefined when there is none; `displayName` when another group has the name. */
export function* changeScimGroup(c: GroupChange): Op<ScimChange | 'displayName' | undefined> {
  const { id, provider, now } = c
  yield* lockProvider(provider, now)
  const known = yield* findScimGroup(c)
  if (!known) return undefined
  const { displayName = known.displayName, externalId = known.externalId } = c
  if (displayName !== known.displayName && (yield* isTaken(provider, displayName, id))) return 'displayName'
  const people = yield* changeMembers(c)
  const fields = [
    ...(displayName === known.displayName ? [] : ['displayName']),
    ...(externalId === known.externalId ? [] : ['externalId']),
    ...(people.size > 0 ? ['members'] : []),
  ]
  if (fields.length === 0) return { id, events: [] }
  yield* change`UPDATE scim_groups SET name = ${displayName}, name_key = ${nameKey(displayName)},
    external_id = ${externalId || null}, updated_at = ${now} WHERE id = ${id}`
  if (fields.includes('displayName')) for (const each of yield* membersOf(id)) people.add(each)
  const events = yield* changePeople(people, provider, now)
  return { id, events: [...events, told('updated', { ...known, displayName }, { fields })] }
}

/** Deletes a group of a provider. Undefined when there is none. */
export function* deleteScimGroup(w: { id: string; provider: string; now: number }): Op<ScimChange | undefined> {
  const { id, provider, now } = w
  yield* lockProvider(provider, now)
  const known = yield* findScimGroup({ id, provider })
  if (!known) return undefined
  const people = new Set(yield* membersOf(id))
  yield* change`DELETE FROM scim_members WHERE group_id = ${id}`
  yield* change`DELETE FROM scim_groups WHERE id = ${id}`
  return { id, events: [...(yield* changePeople(people, provider, now)), told('deleted', known)] }
}

const told = (what: 'created' | 'updated' | 'deleted', group: ScimGroup, more: object = {}) => ({
  action: `group_${what}`,
  detail: { group_id: group.id, group: group.displayName, provider: group.provider, ...more },
})

function* membersOf(group_id: string): Op<string[]> {
  const rows = yield* all`SELECT user_id FROM scim_members WHERE group_id = ${group_id}`
  return rows.map(({ user_id }) => str(user_id))
}

/** Those of some people who are members. */
function* membersAmong(group_id: string, ids: readonly string[]): Op<string[]> {
  const rows = yield* forIds(
    ids,
    (some) => all`SELECT user_id FROM scim_members WHERE user_id IN ${some} AND group_id = ${group_id}`,
  )
  return rows.map(({ user_id }) => str(user_id))
}

/** What steps leave: whether the members of before are gone, and for each id that a step names since then whether it is a member. */
function outcomeOf(steps: readonly MemberStep[]): { isCleared: boolean; named: ReadonlyMap<string, boolean> } {
  const named = new Map<string, boolean>()
  for (const step of steps) {
    if ('clear' in step) named.clear()
    else if ('remove' in step) for (const each of step.remove) named.set(each, false)
    else for (const each of step.add) named.set(each, true)
  }
  return { isCleared: steps.some((step) => 'clear' in step), named }
}

/**
 * Applies steps to the members of a group. Returns who was added or removed. People of other providers are left out. A group may have 100,000
 * members: all of them are read only if a step removes all.
 */
function* changeMembers({ id, provider, steps }: Pick<GroupChange, 'id' | 'provider' | 'steps'>): Op<Set<string>> {
  const { isCleared, named } = outcomeOf(steps)
  const before = new Set(yield* isCleared ? membersOf(id) : membersAmong(id, [...named.keys()]))
  const removed = [...before].filter((each) => !named.get(each))
  const wanted = [...named].flatMap(([each, isMember]) => (isMember && !before.has(each) ? [each] : []))
  const rows = yield* forIds(
    wanted,
    (some) => all`SELECT user_id FROM scim_users WHERE user_id IN ${some} AND provider = ${provider}`,
  )
  const added = rows.map(({ user_id }) => str(user_id))
  for (const some of partsOf(removed))
    yield* change`DELETE FROM scim_members WHERE user_id IN ${listed(some)} AND group_id = ${id}`
  yield* insertRows(
    'scim_members (group_id, user_id)',
    added.map((each) => [id, each]),
    'ON CONFLICT DO NOTHING',
  )
  return new Set([...removed, ...added])
}

/** Writes the groups of people into their accounts. Returns an event for each account that has changed. */
function* changePeople(people: ReadonlySet<string>, provider: string, now: number): Op<ScimChange['events']> {
  const ids = [...people].sort()
  const groups = yield* groupsOfPeople(ids)
  const users = yield* forIds(ids, (some) => USERS.list`WHERE id IN ${some} ORDER BY id`)
  const changed = users.flatMap((before): { before: User; after: User }[] => {
    const provider_groups = (groups.get(before.id) ?? []).map(({ displayName }) => displayName).sort()
    return isDeepStrictEqual(before.provider_groups, provider_groups)
      ? []
      : [{ before, after: { ...before, provider_groups } }]
  })
  yield* writeProviderGroups(
    changed.map(({ after }) => after),
    now,
  )
  const regrouped = changed
    .filter(({ before, after }) => !isDeepStrictEqual(groupsOf(before), groupsOf(after)))
    .map(({ after }) => after)
  for (const some of partsOf(regrouped.map(({ id }) => id)))
    yield* change`DELETE FROM user_groups WHERE user_id IN ${listed(some)}`
  yield* addGroups(regrouped)
  return changed.map(({ before, after }) => ({
    action: 'user_claims_changed',
    detail: {
      user_id: after.id,
      provider,
      fields: ['provider_groups'],
      ...nameChange(before.provider_groups, after.provider_groups),
    },
  }))
}
