// Records that name a client, a user or a resource that does not exist. A deletion removes such names. 0.2.0 kept them, and policies of
// identity providers still do, because an empty list there means all.

import { type Finding, ok, warn } from '../../admin/finding.ts'
import { actionNamed, adminResources } from '../../admin/index.ts'
import type { Config } from '../../config/schema.ts'
import { OAuthError } from '../../lib/error.ts'
import { rootTwin } from '../../lib/url.ts'
import { pagesOf } from '../pages.ts'
import type { AdminClient } from '../send.ts'
import { type Item, namedIn } from '../setup/kinds.ts'

interface Reference {
  /** The admin resource of the records, the filter of its list, and the member by which a finding names a record. */
  of: string
  filter?: Item
  by: string
  /** The path of the member that names others, and the admin resource of those. */
  member: string
  kind: 'client' | 'user' | 'resource'
  fix: (record: string) => string
}

const MEANS_ALL = 'replace them, or delete the policy: an empty list means all'
/** Subject mappings are not read, because there may be one for each user. Assertions for a user that does not exist are refused. */
const REFERENCES: readonly Reference[] = [
  {
    of: 'resource',
    by: 'slug',
    member: 'policy.exchange.allowed_client_ids',
    kind: 'client',
    fix: (slug) =>
      `\`service admin resource policy exchange remove --slug ${slug} --client-id ID\`; an empty list may allow other clients: docs/concepts/resources.md`,
  },
  {
    of: 'resource',
    by: 'slug',
    member: 'policy.runtime.client_ids',
    kind: 'client',
    fix: (slug) => `\`service admin resource policy runtime remove --slug ${slug} --client-id ID\``,
  },
  {
    of: 'resource',
    by: 'slug',
    member: 'access.users',
    kind: 'user',
    fix: (slug) => `\`service admin resource update --slug ${slug} --access\` with the users that exist`,
  },
  {
    of: 'client',
    filter: { source: 'admin' },
    by: 'client_id',
    member: 'default_resource',
    kind: 'resource',
    fix: (id) => `\`service admin client update --id ${id} --default-resource URI\``,
  },
  { of: 'policy', by: 'id', member: 'client_ids', kind: 'client', fix: () => MEANS_ALL },
  { of: 'policy', by: 'id', member: 'resources', kind: 'resource', fix: () => MEANS_ALL },
]

/** A warning for each member of a record that names something that does not exist. */
export async function checkReferences(sender: AdminClient, config: Config): Promise<Finding[]> {
  const resources = await listed(sender, 'resource')
  const exists = existing(sender, resources)
  const warnings: Finding[] = []
  for (const { of, filter, by, member, kind, fix } of REFERENCES.filter(({ of }) => isEnabled(of, config)))
    for (const record of of === 'resource' ? resources : await listed(sender, of, filter)) {
      const missing: string[] = []
      for (const name of namedIn(record, { member, kind })) if (!(await exists(kind, name))) missing.push(name)
      if (missing.length === 0) continue
      const message = `${member} names ${kind}s that do not exist: ${missing.join(', ')}`
      warnings.push(warn(`${of} ${record[by]}`, message, fix(String(record[by]))))
    }
  return warnings.length > 0
    ? warnings
    : [ok('references', 'every client, user and resource that a record names exists')]
}

const isEnabled = (resource: string, config: Config): boolean =>
  adminResources.find(({ name }) => name === resource)?.enabled?.(config) ?? true

async function listed(sender: AdminClient, resource: string, filter?: Item): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of pagesOf(sender, actionNamed(resource, 'list'), filter)) items.push(item)
  return items
}

/** Whether something exists. Clients and users are asked for one by one, because there may be very many. */
function existing(sender: AdminClient, resources: readonly Item[]) {
  const uris = new Set(resources.flatMap(({ uri }) => [uri, rootTwin(String(uri))]))
  const asked = new Map<string, Promise<boolean>>()
  return (kind: Reference['kind'], name: string): boolean | Promise<boolean> => {
    if (kind === 'resource') return uris.has(name)
    const found = asked.get(`${kind} ${name}`) ?? hasItem(sender, kind, name)
    asked.set(`${kind} ${name}`, found)
    return found
  }
}

async function hasItem(sender: AdminClient, kind: 'client' | 'user', id: string): Promise<boolean> {
  const params: Record<string, string> = kind === 'client' ? { client_id: id } : { id }
  try {
    await sender.send(actionNamed(kind, 'get'), { params, query: {} })
    return true
  } catch (error) {
    if (error instanceof OAuthError && error.status === 404) return false
    throw error
  }
}
