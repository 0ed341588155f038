// What fields can search for: the items of each kind, with the text that people know them by.
import type { PickKind } from '../../src/admin/forms/form.ts'
import { get, segment } from './api.ts'
import { plain } from './format.ts'
import type { ClientAnswer, GroupAnswer, Provider, ResourceAnswer, UserAnswer } from './types.ts'

type Pair = readonly [value: string, text: string]
const MOST = 6

const includes = (text: string) => (pair: Pair) =>
  pair.some((each) => each.toLowerCase().includes(text.trim().toLowerCase()))

/** The list of a kind that the server searches. */
const searched =
  <T>(path: string, pairOf: (row: T) => Pair) =>
  async (text: string): Promise<Pair[]> =>
    (await get<T[]>(path, { q: text.trim(), limit: MOST })).map(pairOf)

/** A list that is read as a whole and searched here. */
const whole =
  <T>(path: string, limit: number | undefined, pairsOf: (row: T) => Pair[]) =>
  async (text: string): Promise<Pair[]> =>
    (await get<T[]>(path, { limit })).flatMap(pairsOf).filter(includes(text))

const resourceName = ({ display_name, slug }: ResourceAnswer) => plain(display_name || slug)
const userName = ({ email, name, id }: UserAnswer) => plain(email || name || id)

const LISTS: Readonly<Record<PickKind, (text: string) => Promise<Pair[]>>> = {
  client: searched<ClientAnswer>('/admin/clients', ({ client_id, client_name }) => [client_id, plain(client_name)]),
  user: searched<UserAnswer>('/admin/users', (user) => [user.id, userName(user)]),
  resource: searched<ResourceAnswer>('/admin/resources', (resource) => [resource.slug, resourceName(resource)]),
  resource_uri: searched<ResourceAnswer>('/admin/resources', (resource) => [
    resource.uri || resource.slug,
    resourceName(resource),
  ]),
  group: whole<GroupAnswer>('/admin/groups', 500, ({ name }) => [[name, '']]),
  provider: whole<Provider>('/admin/broker-providers', undefined, ({ slug, display_name }) => [[slug, display_name]]),
  scope: whole<ResourceAnswer>('/admin/resources', 500, (resource) =>
    resource.scopes.map(({ name }) => [name, resourceName(resource)]),
  ),
}

/** Items of a kind that a text finds, without those that are chosen already. */
export async function findItems(kind: PickKind, text: string, chosen: readonly string[]): Promise<Pair[]> {
  const found = new Map((await LISTS[kind](text)).filter(([value]) => !chosen.includes(value)))
  return [...found].slice(0, MOST)
}

/** The name of an item whose id says nothing. Empty for the other kinds and for an unknown id. */
export async function nameOfItem(kind: PickKind, id: string): Promise<string> {
  try {
    if (kind === 'client') return plain((await get<ClientAnswer>(`/admin/clients/${segment(id)}`)).client_name)
    if (kind === 'user') return userName(await get<UserAnswer>(`/admin/users/${segment(id)}`))
  } catch {
    // The item was deleted, or is not one of this server.
  }
  return ''
}
