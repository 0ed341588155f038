// Admin operations on groups. A group is a name that users have and that resources name; it has no record of its own.
import { z } from 'zod'
import { groupName, int } from '../../lib/field.ts'
import type { Resource } from '../../records/resource.ts'
import type { GroupCount } from '../../store/people/groups.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/people.ts'

/** Users of a group are counted up to this number. */
const COUNTED = 1000

export const groups: AdminResource = {
  name: 'group',
  doc: 'Groups of users.',
  actions: {
    list: action('GET /admin/groups', {
      doc: 'Lists first the groups that have users, by name, and then the groups that only resources name.',
      answer: z.array(answers.group),
      query: z.strictObject({
        limit: int(1, 500).prefault(100).describe('Maximum number of items.'),
        after: groupName()
          .optional()
          .describe('Return items after this name, the last name of the previous page (cursor).'),
      }),
      async run({ store }, { query: { after, limit } }) {
        const named = namedIn(await store.listResources({}))
        const isPastUsers = after !== undefined && (await store.listEmptyGroups({ names: [after] })).length > 0
        const used = isPastUsers ? [] : await store.listGroups({ after, limit, cap: COUNTED + 1 })
        const empty = used.length < limit ? await store.listEmptyGroups({ names: [...named.keys()] }) : []
        const rest = empty.filter((name) => !isPastUsers || name > after).sort()
        const found = [...used, ...rest.map((name) => ({ name, users: 0 }))].slice(0, limit)
        return { shown: found.map((group) => groupJson(group, named.get(group.name) ?? [])) }
      },
    }),
  },
}

const groupJson = ({ name, users }: GroupCount, resources: readonly string[]) => ({
  name,
  users: Math.min(users, COUNTED),
  ...(users > COUNTED ? { more_users: true } : {}),
  resources,
})

/** The slugs of the resources that name a group, by group. */
function namedIn(resources: readonly Resource[]): Map<string, string[]> {
  const named = new Map<string, string[]>()
  for (const { slug, access, scopes } of resources) {
    const names = new Set([...access.groups, ...scopes.flatMap((scope) => scope.groups ?? [])])
    for (const name of names) {
      const slugs = named.get(name)
      if (slugs) slugs.push(slug)
      else named.set(name, [slug])
    }
  }
  for (const slugs of named.values()) slugs.sort()
  return named
}
