// /Groups: the groups of the provider of a key. Their names are provider groups of their members.
import { z } from 'zod'
import type { App } from '../context.ts'
import { empty, NO_STORE, type Reply, type Request } from '../http/message.ts'
import { groupName, issuesOf, text } from '../lib/field.ts'
import { newId } from '../lib/id.ts'
import { isObject } from '../lib/json.ts'
import { rfc3339 } from '../lib/time.ts'
import type { ScimGroup } from '../records/scim.ts'
import type { MemberStep } from '../store/people/scim_groups.ts'
import type { ScimCaller } from './caller.ts'
import type { AttributePath } from './filter.ts'
import { notThere, refusal, scimBody, scimReply, URNS } from './message.ts'
import { type PatchOperation, readOperations } from './patch.ts'
import { canonical, readAs, scimUrl } from './person.ts'
import { answerList, type Shown, scimParams, shownBy } from './query.ts'

/** Maximum number of members in one request, and in one answer. */
const MAX_MEMBERS = 100_000

const FILTERS = {
  id: 'id',
  displayname: 'displayName',
  externalid: 'externalId',
  members: 'member',
  'members.value': 'member',
} as const

const groupJson = (app: App, group: ScimGroup, members: readonly string[] | undefined) => ({
  schemas: [URNS.group],
  id: group.id,
  externalId: group.externalId,
  displayName: group.displayName,
  members: members?.map((id) => ({
    value: id,
    $ref: scimUrl(app, `/Users/${id}`),
    type: 'User',
  })),
  meta: {
    resourceType: 'Group',
    created: rfc3339(group.created_at),
    lastModified: rfc3339(group.updated_at),
    location: scimUrl(app, `/Groups/${group.id}`),
  },
})

/** Groups as they are shown. Members are read only where they are. Throws tooMany. */
async function shownGroups(app: App, shown: Shown, groups: readonly ScimGroup[]): Promise<Record<string, unknown>[]> {
  const ids = groups.map(({ id }) => id)
  const members = shown.has('members') ? await app.store.listScimMembers({ ids, most: MAX_MEMBERS }) : {}
  if (!members) throw refusal('tooMany', 'the groups have too many members: use excludedAttributes=members')
  return groups.map((group) => shown.of(groupJson(app, group, members[group.id])))
}

/** Lists groups, or finds one. */
export const listGroupsOf = (app: App, request: Request, { provider }: ScimCaller): Promise<Reply> =>
  answerList(request, FILTERS, async (page, shown) => {
    const { total, groups } = await app.store.listScimGroups({ ...page, provider: provider.slug })
    return { total, items: await shownGroups(app, shown, groups) }
  })

/** Shows a group: the one of the path, or the one that was created. */
export async function readGroupById(
  app: App,
  request: Request,
  { provider }: ScimCaller,
  created?: string,
): Promise<Reply> {
  const id = created ?? request.params['id'] ?? ''
  const group = await app.store.findScimGroup({ id, provider: provider.slug })
  if (!group) throw notThere('group')
  const [json] = await shownGroups(app, shownBy(scimParams(request)), [group])
  return created ? scimReply(201, json, { location: scimUrl(app, `/Groups/${id}`) }) : scimReply(200, json)
}

const fields = z.object({ displayName: groupName(), externalId: text(255).optional() })
const MEMBERS = ['displayName', 'externalId', 'members']

function readGroup(body: Readonly<Record<string, unknown>>) {
  const known = canonical(body, MEMBERS)
  return { ...readAs(fields, known), members: known['members'] === undefined ? [] : idsOf(known['members']) }
}

/** The ids of members. Throws invalidValue. */
function idsOf(value: unknown): string[] {
  const given = Array.isArray(value) ? value : [value]
  if (given.length > MAX_MEMBERS) throw refusal('invalidValue', `at most ${MAX_MEMBERS} members in one request`)
  return given.map((each) => {
    const id = isObject(each) ? canonical(each, ['value'])['value'] : undefined
    if (typeof id !== 'string' || !text(255).safeParse(id).success)
      throw refusal('invalidValue', 'a member must be an object with the id of a user as value')
    return id
  })
}

/** Adds a group. */
export async function createGroupOf(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const { members, displayName, externalId } = readGroup(scimBody(request))
  const now = app.clock.now()
  const about = { id: newId(), provider: caller.provider.slug, created_at: now, updated_at: now }
  const group = { ...about, displayName, ...(externalId ? { externalId } : {}) }
  const done = await app.store.recorded('createScimGroup', { group, members }, caller.event())
  if (typeof done === 'string') throw taken()
  return readGroupById(app, request, caller, group.id)
}

interface Changes {
  displayName?: string
  externalId?: string
  steps: MemberStep[]
}

/** Replaces a group and its members. */
export const replaceGroup = (app: App, request: Request, caller: ScimCaller): Promise<Reply> => {
  const { members, displayName, externalId = '' } = readGroup(scimBody(request))
  return writeGroup(app, request, caller, { displayName, externalId, steps: [{ clear: true }, { add: members }] })
}

/** Changes a group. All operations are done, or none. The answer has no members: they may be many. */
export const patchGroup = (app: App, request: Request, caller: ScimCaller): Promise<Reply> =>
  writeGroup(app, request, caller, changesOf(readOperations(scimBody(request))), empty(204, NO_STORE))

async function writeGroup(
  app: App,
  request: Request,
  caller: ScimCaller,
  changes: Changes,
  reply?: Reply,
): Promise<Reply> {
  const id = request.params['id'] ?? ''
  const input = { id, provider: caller.provider.slug, ...changes, now: app.clock.now() }
  const done = await app.store.recorded('changeScimGroup', input, caller.event())
  if (done === undefined) throw notThere('group')
  if (typeof done === 'string') throw taken()
  return reply ?? readGroupById(app, request, caller)
}

function changesOf(operations: readonly PatchOperation[]): Changes {
  const changes: Changes = { steps: [] }
  for (const { op, path, value } of operations) {
    if (path) changeOne(changes, op, path, value)
    else
      for (const [name, part] of Object.entries(canonical(value as Record<string, unknown>, MEMBERS)))
        changeOne(changes, op, { name: name.toLowerCase() }, part)
  }
  return changes
}

const READ_ONLY = ['id', 'meta', 'schemas']

function changeOne(changes: Changes, op: PatchOperation['op'], path: AttributePath, value: unknown): void {
  if (READ_ONLY.includes(path.name)) throw refusal('mutability', `${path.name} is read only`)
  if (path.name === 'members') changes.steps.push(...memberSteps(op, path, value))
  else if (path.name === 'displayname') {
    if (op === 'remove') throw refusal('mutability', 'displayName is required')
    changes.displayName = fieldOf('displayName', value)
  } else if (path.name === 'externalid') changes.externalId = op === 'remove' ? '' : fieldOf('externalId', value)
}

function fieldOf(name: 'displayName' | 'externalId', value: unknown): string {
  const { success, data, error } = (name === 'displayName' ? groupName() : text(255)).safeParse(value)
  if (success) return data
  throw refusal('invalidValue', `${name} ${issuesOf(error)[0]?.message}`)
}

function memberSteps(op: PatchOperation['op'], { where, sub }: AttributePath, value: unknown): MemberStep[] {
  if (where) {
    // `members[value eq "…"]`, and nothing else.
    const ids = where.flatMap(({ path, value }) => (path.name === 'value' && typeof value === 'string' ? [value] : []))
    if (op !== 'remove' || ids.length !== 1 || where.length !== 1 || sub !== undefined)
      throw refusal('invalidPath', 'a member is removed by members[value eq "ID"]')
    return [{ remove: ids }]
  }
  if (sub !== undefined) throw refusal('invalidPath', 'members are changed as a whole')
  if (op === 'remove') return value === undefined ? [{ clear: true }] : [{ remove: idsOf(value) }]
  if (value === undefined) throw refusal('invalidValue', 'members needs a value')
  return [...(op === 'replace' ? [{ clear: true as const }] : []), { add: idsOf(value) }]
}

/** Deletes a group. Its members lose its name. */
export async function deleteGroupOf(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const input = { id: request.params['id'] ?? '', provider: caller.provider.slug, now: app.clock.now() }
  if (!(await app.store.recorded('deleteScimGroup', input, caller.event()))) throw notThere('group')
  return empty(204, NO_STORE)
}

const taken = () => refusal('uniqueness', 'another group of this provider has this displayName')
