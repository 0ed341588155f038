// Admin operations on the three lists of a resource's policy, item by item. Adding and removing are idempotent.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { text } from '../../lib/field.ts'
import type { Resource, ResourcePolicy } from '../../records/resource.ts'
import { type ActionResult, type AdminResource, action, type Recorder } from '../action.ts'
import { invalid } from '../outcome.ts'
import { getResource } from './resource_record.ts'
import { writeResource } from './resources.ts'

/** The member of a policy that has the items, which answers have too. */
type Place = { [N in keyof ResourcePolicy]: { name: N; member: keyof ResourcePolicy[N] } }[keyof ResourcePolicy]
/** A list of a policy. */
type PolicyList = Place & {
  /** Path after `/admin/resources/{slug}/policy/`. */
  path: string
  /** The member that names an item. */
  param: keyof typeof ITEMS
  only?: Resource['backend_kind']
  doc: string
}

/** What an item is, by the member that names it. */
const ITEMS = {
  client_id: { item: 'client', field: text(2048).describe('The client.') },
  url: { item: 'URL pattern', field: text(2048).describe('The pattern. * matches within one part of the URL.') },
} as const

const LISTS: readonly PolicyList[] = [
  {
    name: 'exchange',
    member: 'allowed_client_ids',
    path: 'exchange/allowed-clients',
    param: 'client_id',
    doc: 'Clients that may exchange tokens for tokens of a resource. For a broker resource, to add a client or to remove the last one needs the capability admin.',
  },
  {
    name: 'runtime',
    member: 'client_ids',
    path: 'runtime/client-ids',
    param: 'client_id',
    doc: 'Clients that are the server of a resource: they may introspect and exchange its tokens. To add one that could obtain tokens of a provider needs the capability admin.',
  },
  {
    name: 'connect',
    member: 'allowed_return_urls',
    path: 'connect/allowed-return-urls',
    param: 'url',
    only: 'broker',
    doc: 'Return URLs of the connect flow of a broker resource.',
  },
]

const itemsIn = ({ name, member }: PolicyList, { policy }: Resource): string[] =>
  (policy[name] as Record<typeof member, string[]>)[member]

const shownList = (list: PolicyList, resource: Resource) => ({ [list.member]: itemsIn(list, resource) })

async function getHolder(app: App, slug: string, { only }: PolicyList): Promise<Resource> {
  const resource = await getResource(app, slug)
  if (only && resource.backend_kind !== only) throw invalid(`only ${only} resources have this list`, 'wrong_kind')
  return resource
}

async function changeList(
  app: App,
  slug: string,
  list: PolicyList,
  op: 'added' | 'removed',
  item: string,
  by: Recorder,
): Promise<ActionResult> {
  const stored = await getHolder(app, slug, list)
  const items = itemsIn(list, stored)
  if (items.includes(item) === (op === 'added')) return { shown: shownList(list, stored) }
  const changed = op === 'added' ? [...items, item] : items.filter((each) => each !== item)
  const next = { ...stored, policy: { ...stored.policy, [list.name]: { [list.member]: changed } } }
  const written = await writeResource(app, stored, next, by, { policy: list.name, [op]: item })
  return { shown: shownList(list, written) }
}

/** The three operations on a list. A URL is removed by a query parameter, because it does not fit into a path. */
function policyOf(list: PolicyList): AdminResource {
  const { member, param, doc } = list
  const { item, field } = ITEMS[param]
  const at = `/admin/resources/{slug}/policy/${list.path}` as const
  const named = z.strictObject({ [param]: field })
  const answer = z.strictObject({ [member]: z.array(z.string()) })
  const inPath = param === 'client_id'
  const itemAt = inPath ? (`${at}/{${param}}` as const) : at
  return {
    name: `resource policy ${list.name}`,
    doc,
    actions: {
      list: action(`GET ${at}`, {
        doc: `Lists the ${item}s.`,
        answer,
        run: async (app, { params }) => ({ shown: shownList(list, await getHolder(app, params.slug, list)) }),
      }),
      add: action(`POST ${at}`, {
        audit: 'resource_updated',
        count: ['ext_allowlist_ops_total', { op: 'add' }],
        doc: `Adds a ${item}. If the list already contains it, nothing changes.`,
        answer,
        body: named,
        run: (app, { params, body }, by) => changeList(app, params.slug, list, 'added', body[param] ?? '', by),
      }),
      remove: action(`DELETE ${itemAt}`, {
        audit: 'resource_updated',
        count: ['ext_allowlist_ops_total', { op: 'remove' }],
        doc: `Removes a ${item}. If the list does not contain it, nothing changes.`,
        answer,
        ...(inPath ? {} : { query: named }),
        run(app, { params, query }, by) {
          const given: Partial<Record<string, string>> = { ...params, ...(query as object) }
          return changeList(app, params.slug, list, 'removed', given[param] ?? '', by)
        },
      }),
    },
  }
}

export const resourcePolicies: readonly AdminResource[] = [
  { name: 'resource policy', doc: 'Policy of a resource: three lists of trusted clients and URLs.', actions: {} },
  ...LISTS.map(policyOf),
]
