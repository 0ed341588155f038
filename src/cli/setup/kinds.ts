// The kinds of items that a set-up document can contain. Each item is identified by its key.
import { z } from 'zod'
import type { Action } from '../../admin/action.ts'
import { documentFields } from '../../admin/answers/parts.ts'
import { actionNamed, findAction } from '../../admin/index.ts'
import type { Config } from '../../config/schema.ts'
import { POLL } from '../../events/event_types.ts'
import { comparableEmail } from '../../lib/email.ts'
import { groupNames, text } from '../../lib/field.ts'
import { isObject } from '../../lib/json.ts'
import { rootTwin } from '../../lib/url.ts'
import { isUrlShaped } from '../../oauth/clients/cimd.ts'

export type Item = Record<string, unknown>

/** A member that names items of another kind: by their keys, or by their member `by`. */
export interface NamingMember {
  /** The path of the member: `policy.runtime.client_ids`. */
  readonly member: string
  readonly kind: string
  readonly by?: string
}

export interface Kind {
  /** The member of the document that lists the items. */
  readonly name: string
  /** The admin resource of the items. */
  readonly resource: string
  /** The members that identify an item. */
  readonly key: readonly string[]
  /** The path parameters of the operation that changes an item. */
  readonly at: (shown: Item) => Record<string, string>
  /** The member that refers to an item of another kind: by key in a document, by id in the admin API. */
  readonly reference?: { readonly member: string; readonly field: string; readonly kind: string }
  /** Members whose names differ in the admin API. */
  readonly read?: (shown: Item) => Item
  /** Whether the answer of the operation `get` has more of an item than a list. Default: never. */
  readonly isShort?: (shown: Item) => boolean
  /** Members that a document never has, because ids differ between installations. */
  readonly without?: readonly string[]
  /** The member whose default is the issuer of the server. */
  readonly issuer?: string
  /** Members that a change merges. Every other member is replaced as a whole. */
  readonly merged?: readonly string[]
  /** Members of the key that an item may omit. */
  readonly optional?: readonly string[]
  /** Members that refer to items which are created later. They are set when all items exist. */
  readonly late?: readonly string[]
  /** The members that the creation of an item takes, if not all of them. The others are set right afterwards. */
  readonly creates?: (item: Item) => readonly string[] | undefined
  /** Members of an item that an export contains also when they have the default of its creation. */
  readonly always?: (item: Item) => readonly string[]
  /** The members of items that a document changes and never creates. It need not list all of them. */
  readonly changes?: z.ZodType
  /** Whether a document can list an item: an operator set it up, or may take it over. Default: always true. */
  readonly ours?: (shown: Item) => boolean
  /** Whether an export lists an item that exists, and `--prune` removes it. Default: always true. */
  readonly exported?: (shown: Item) => boolean
  /** The kinds of the items without which an item cannot exist, by the member that has their key. */
  readonly parents?: Readonly<Record<string, string>>
  /** Other members that name items, which must exist. */
  readonly names?: readonly NamingMember[]
  /** The query parameters that delete an item together with the records that refer to it. */
  readonly removal?: Item
  /** The keys of the items that the configuration creates at every start. */
  readonly configured?: (config: Config) => string[]
}

const byId = (shown: Item) => ({ id: String(shown['id']) })
const slugs = (records: readonly { slug: string }[]) => records.map(({ slug }) => slug)
const ofIdp = {
  reference: { member: 'idp', field: 'idp_id', kind: 'idps' },
  parents: { idp: 'idps' },
} as const

const isDocumentClient = ({ client_id }: Item): boolean => isUrlShaped(String(client_id))
/** The members of a client with a metadata document that the document does not set. */
const BESIDE_DOCUMENT: readonly string[] = [
  ...['client_id', 'document', 'agent_description', 'dpop_bound_access_tokens', 'default_resource', 'limits'],
]
/** What an operator gave for such a client: the document is listed as a whole, and of its members only those that limit it. */
const givenBeside = ({ operator_set, ...shown }: Item): Item => ({
  ...Object.fromEntries(BESIDE_DOCUMENT.map((name) => [name, shown[name]])),
  ...(isObject(operator_set) ? operator_set : {}),
})

/** In the order of creation: an item comes after the items that it refers to. */
export const KINDS: readonly Kind[] = [
  {
    name: 'providers',
    resource: 'provider',
    key: ['slug'],
    at: byId,
    removal: { cascade: true },
    configured: ({ broker_providers }) => slugs(broker_providers),
  },
  {
    name: 'clients',
    resource: 'client',
    key: ['client_id'],
    at: ({ client_id }) => ({ client_id: String(client_id) }),
    isShort: ({ document_source }) => document_source === 'stored',
    read: (shown) => (isDocumentClient(shown) ? givenBeside(shown) : shown),
    late: ['default_resource'],
    creates: (item) => (isDocumentClient(item) ? ['client_id', 'document'] : undefined),
    always: (item) => (isDocumentClient(item) ? Object.keys(documentFields.shape) : []),
    names: [{ member: 'default_resource', kind: 'resources', by: 'uri' }],
    merged: ['limits'],
    ours: ({ registration_source }) => registration_source !== 'dcr',
    exported: ({ registration_source, document }) => registration_source === 'admin' || document !== undefined,
    removal: { force: true },
  },
  {
    name: 'resources',
    resource: 'resource',
    key: ['slug'],
    at: byId,
    merged: ['policy'],
    names: [
      { member: 'broker_provider_slug', kind: 'providers' },
      { member: 'policy.exchange.allowed_client_ids', kind: 'clients' },
      { member: 'policy.runtime.client_ids', kind: 'clients' },
    ],
    without: ['broker_provider_id'],
    removal: { cascade: true },
    configured: ({ resources }) => slugs(resources),
  },
  {
    name: 'fronting',
    resource: 'fronting',
    key: ['source', 'target'],
    read: ({ source_slug, target_slug, ...shown }) => ({ ...shown, source: source_slug, target: target_slug }),
    at: ({ source_slug, target_slug }) => ({ source: String(source_slug), target: String(target_slug) }),
    parents: { source: 'resources', target: 'resources' },
  },
  { name: 'idps', resource: 'idp', key: ['issuer'], at: byId, issuer: 'audience' },
  {
    name: 'users',
    resource: 'user',
    key: ['email'],
    at: byId,
    changes: z.strictObject({
      email: text(254).transform(comparableEmail),
      groups: groupNames().default([]),
    }),
    read: ({ email, groups, operator_groups = groups }) => ({
      email: comparableEmail(String(email)),
      groups: operator_groups,
    }),
    ours: ({ email }) => email !== '',
  },
  { name: 'policies', resource: 'policy', key: ['idp', 'name'], at: byId, ...ofIdp },
  { name: 'mappings', resource: 'mapping', key: ['idp', 'federated_subject'], at: byId, ...ofIdp },
  { name: 'webhooks', resource: 'webhook', key: ['url'], at: byId },
  {
    name: 'streams',
    resource: 'stream',
    key: ['client_id', 'description'],
    optional: ['description'],
    at: ({ stream_id }) => ({ id: String(stream_id) }),
    // The URL for polls contains the id of the stream.
    read: ({ aud, delivery, ...shown }) => ({
      ...shown,
      client_id: aud,
      delivery: isObject(delivery) && delivery['method'] === POLL ? { method: POLL } : delivery,
    }),
    merged: ['delivery'],
    ours: ({ source }) => source === 'admin',
    parents: { client_id: 'clients' },
  },
]

/** The kind with a name, or undefined. */
export const kindNamed = (name: string | undefined): Kind | undefined => KINDS.find((kind) => kind.name === name)

/** Each kind with all of its items, also those that no operator set up. */
const WHOLE = new Map(KINDS.map((kind) => [kind, kind.ours ? { ...kind, ours: () => true } : kind]))
export const wholeKind = (kind: Kind): Kind => WHOLE.get(kind) ?? kind

/** The members of a kind that name other items. */
export const namingMembers = ({ parents = {}, names = [] }: Kind): NamingMember[] => [
  ...Object.entries(parents).map(([member, kind]) => ({ member, kind })),
  ...names,
]

/** The items that a member of an item names. */
export function namedIn(item: Item, { member }: NamingMember): string[] {
  const value = member.split('.').reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), item)
  return [value].flat().filter((each): each is string => typeof each === 'string' && each !== '')
}

/** Whether a member names an item with this value. The API decides whether two URIs that differ by a slash are the same. */
export function isNamedBy({ by }: NamingMember, value: string, kind: Kind, item: Item): boolean {
  const name = by ? String(item[by]) : itemKey(kind, item)
  return name === value || (by === 'uri' && rootTwin(name) === value)
}

/** The operation that changes an item of a kind, or undefined. */
export const updateOf = ({ resource }: Kind): Action | undefined => findAction(resource, 'update')

/** The key of an item as text. */
export const itemKey = ({ key }: Kind, item: Item): string =>
  key
    .map((name) => String(item[name] ?? ''))
    .filter(Boolean)
    .join(' ')

/** The members that items of a kind have in a document, key members first. */
export function membersOf(kind: Kind): string[] {
  const { properties = {} } = z.toJSONSchema(bodyOf(kind), { io: 'input', unrepresentable: 'any' })
  const { key, reference, without = [] } = kind
  const names = Object.keys(properties).map((name) => (name === reference?.field ? reference.member : name))
  return [...key, ...names.filter((name) => ![...key, ...without].includes(name))]
}

/** The schema of the members of an item: of the body that creates it, unless items are only changed. */
export function bodyOf(kind: Kind): z.ZodType {
  if (kind.changes) return kind.changes
  const { body } = actionNamed(kind.resource, 'create')
  if (!body) throw new Error(`${kind.name} are created without a body`)
  return body
}
