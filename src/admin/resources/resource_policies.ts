// Admin operations on the three lists of a resource's policy, item by item. Adding and removing are idempotent.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { text } from '../../lib/field.ts'
import type { Resource, ResourcePolicy } from '../../records/resource.ts'
import { type ActionResult, type AdminResource, action, type Recorder } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { invalid } from '../outcome.ts'
import { getResource } from './resource_record.ts'
import { writeResource } from './resources.ts'

/** A list: its place in the policy, and the names of its items and answers. */
interface PolicyList {
  name: 'exchange' | 'runtime' | 'connect'
  member: string
  only?: Resource['backend_kind']
  read(policy: ResourcePolicy): string[]
  write(policy: ResourcePolicy, items: string[]): ResourcePolicy
}

const exchange: PolicyList = {
  name: 'exchange',
  member: 'allowed_client_ids',
  read: (policy) => policy.exchange.allowed_client_ids,
  write: (policy, allowed_client_ids) => ({ ...policy, exchange: { allowed_client_ids } }),
}
const runtime: PolicyList = {
  name: 'runtime',
  member: 'client_ids',
  read: (policy) => policy.runtime.client_ids,
  write: (policy, client_ids) => ({ ...policy, runtime: { client_ids } }),
}
const connect: PolicyList = {
  name: 'connect',
  member: 'allowed_return_urls',
  only: 'broker',
  read: (policy) => policy.connect.allowed_return_urls,
  write: (policy, allowed_return_urls) => ({ ...policy, connect: { allowed_return_urls } }),
}

const shownList = (list: PolicyList, resource: Resource) => ({ [list.member]: list.read(resource.policy) })

async function getHolder(app: App, slug: string, { only }: PolicyList): Promise<Resource> {
  const resource = await getResource(app, slug)
  if (only && resource.backend_kind !== only) throw invalid(`only ${only} resources have this list`, 'wrong_kind')
  return resource
}

const showList = async (app: App, slug: string, list: PolicyList): Promise<ActionResult> => ({
  shown: shownList(list, await getHolder(app, slug, list)),
})

async function changeList(
  app: App,
  slug: string,
  list: PolicyList,
  op: 'added' | 'removed',
  item: string,
  by: Recorder,
): Promise<ActionResult> {
  const stored = await getHolder(app, slug, list)
  const items = list.read(stored.policy)
  if (items.includes(item) === (op === 'added')) return { shown: shownList(list, stored) }
  const changed = op === 'added' ? [...items, item] : items.filter((each) => each !== item)
  const next = { ...stored, policy: list.write(stored.policy, changed) }
  const written = await writeResource(app, stored, next, by, { policy: list.name, [op]: item })
  return { shown: shownList(list, written) }
}

const added = { audit: 'resource_updated', count: ['ext_allowlist_ops_total', { op: 'add' }] } as const
const removed = { audit: 'resource_updated', count: ['ext_allowlist_ops_total', { op: 'remove' }] } as const

interface Listed {
  /** Path after `/admin/resources/{slug}/policy/`. */
  path: string
  doc: string
  /** The member that names an item, and its description. */
  member: 'client_id' | 'url'
  item: string
  field: z.ZodType<string>
}

/** The three operations on a list. A URL is removed by a query parameter, because it does not fit into a path. */
function policyOf(list: PolicyList, { path, doc, member, item, field }: Listed): AdminResource {
  const at = `/admin/resources/{slug}/policy/${path}` as const
  const named = z.strictObject({ [member]: field })
  const answer = answers.policyLists[list.name]
  const inPath = member === 'client_id'
  const itemAt = inPath ? (`${at}/{${member}}` as const) : at
  return {
    name: `resource policy ${list.name}`,
    doc,
    actions: {
      list: action(`GET ${at}`, {
        doc: `Lists the ${item}s.`,
        answer,
        run: (app, { params }) => showList(app, params.slug, list),
      }),
      add: action(`POST ${at}`, {
        ...added,
        doc: `Adds a ${item}. If the list already contains it, nothing changes.`,
        answer,
        body: named,
        run: (app, { params, body }, by) => changeList(app, params.slug, list, 'added', body[member] ?? '', by),
      }),
      remove: action(`DELETE ${itemAt}`, {
        ...removed,
        doc: `Removes a ${item}. If the list does not contain it, nothing changes.`,
        answer,
        ...(inPath ? {} : { query: named }),
        run(app, { params, query }, by) {
          const given: Partial<Record<string, string>> = { ...params, ...(query as object) }
          return changeList(app, params.slug, list, 'removed', given[member] ?? '', by)
        },
      }),
    },
  }
}

const client = { member: 'client_id', item: 'client', field: text(2048).describe('The client.') } as const
const url = {
  member: 'url',
  item: 'URL pattern',
  field: text(2048).describe('The pattern. * matches within one part of the URL.'),
} as const

export const resourcePolicies: readonly AdminResource[] = [
  { name: 'resource policy', doc: 'Policy of a resource: three lists of trusted clients and URLs.', actions: {} },
  policyOf(exchange, {
    ...client,
    path: 'exchange/allowed-clients',
    doc: 'Clients that may exchange tokens for tokens of a resource. For a broker resource, to add a client or to remove the last one needs the capability admin.',
  }),
  policyOf(runtime, {
    ...client,
    path: 'runtime/client-ids',
    doc: 'Clients that are the server of a resource: they may introspect and exchange its tokens. To add one that could obtain tokens of a provider needs the capability admin.',
  }),
  policyOf(connect, {
    ...url,
    path: 'connect/allowed-return-urls',
    doc: 'Return URLs of the connect flow of a broker resource.',
  }),
]
