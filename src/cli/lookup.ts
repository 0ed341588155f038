// How commands name an item: by its id, or by what people know, such as an email, a slug or a name.
import { z } from 'zod'
import { type Action, type AdminResource, type Lookup, paramNames } from '../admin/action.ts'
import { adminResources } from '../admin/index.ts'
import { conflict, notFound } from '../admin/outcome.ts'
import { pagesOf } from './pages.ts'
import type { AdminClient } from './send.ts'

/** Finds the id of an item by what a flag says. */
export type FindId = (sender: AdminClient, value: string) => Promise<string>

/** A flag that names an item without its id. */
interface LookupFlag {
  /** The name without the dashes: `email`. */
  name: string
  doc: string
  find: FindId
}

/** The path parameter that names the item of an operation: the first one, unless it takes two to name an item. */
export function itemParamOf({ path }: Action): string | undefined {
  const [name] = paramNames(path)
  return name === undefined || path.includes(`{${name}}/{`) ? undefined : name
}

/** The kind of item that a field of an operation names by its id: the collection of a path parameter, or the user of `user_id`. */
export function namedBy(action: Action, part: 'params' | 'query' | 'body', field: string): AdminResource | undefined {
  const isListAt = (path: string) => (each: AdminResource) => each.actions['list']?.path === path
  if (part === 'params') return adminResources.find(isListAt(action.path.split(`/{${field}}`)[0] ?? ''))
  const resource = adminResources.find(({ name }) => `${name}_id` === field)
  // An operation on the whole collection sets the id of a new item.
  return resource && isListAt(action.path)(resource) ? undefined : resource
}

/** The flags that find an item of a kind, in place of its id. */
export const lookupsOf = (resource: AdminResource): LookupFlag[] =>
  Object.entries(resource.lookup ?? byName(resource)).map(([name, lookup]) => ({
    name,
    doc: lookup.doc,
    find: (sender, value) => findId(sender, resource, { flag: name, ...lookup }, value),
  }))

/** What help texts call one item of a kind. */
export const itemNameOf = ({ name, item = name }: AdminResource): string => item

/** Items with a name are found by it, unless their declaration says otherwise. */
function byName(resource: AdminResource): Readonly<Record<string, Lookup>> {
  const { actions } = resource
  const answer = actions['list']?.answer
  if (!answer || !actions['get']) return {}
  const { items } = z.toJSONSchema(answer, { unrepresentable: 'any' }) as { items?: { properties?: object } }
  return items?.properties && 'name' in items.properties
    ? { name: { doc: `Name of the ${itemNameOf(resource)}, if no other has it.`, member: 'name' } }
    : {}
}

async function findId(
  sender: AdminClient,
  { name: kind, actions }: AdminResource,
  { flag, query, member }: Lookup & { flag: string },
  value: string,
): Promise<string> {
  const list = actions['list']
  // The path takes the value in place of the id.
  if (!list || (query === undefined && member === undefined)) return value
  const [idMember = 'id'] = paramNames(actions['get']?.path ?? '')
  const ids: string[] = []
  for await (const item of pagesOf(sender, list, query === undefined ? {} : { [query]: value }))
    if (member === undefined || item[member] === value) ids.push(String(item[idMember] ?? item['id']))
  const [id] = ids
  if (id === undefined) throw notFound(kind)
  if (ids.length > 1)
    throw conflict(`--${flag} is not unique: ${ids.join(', ')} have it. Use --id`, 'ambiguous_name', { ids })
  return id
}
