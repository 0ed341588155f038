// The kinds of items that a set-up document can contain. Each item is identified by its key.
import { z } from 'zod'
import type { Action } from '../../admin/action.ts'
import { actionNamed, findAction } from '../../admin/index.ts'

export type Item = Record<string, unknown>

/** Whether a value is an object and not a list. */
export const isItem = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface Kind {
  /** The member of the document that lists the items. */
  readonly name: string
  /** The admin resource of the items. */
  readonly resource: string
  /** The members that identify an item. */
  readonly key: readonly string[]
  /** The path parameters of the operation that changes an item. */
  readonly at: (shown: Item) => Record<string, string>
  /** Members that refer to an item of another kind: by key in a document, by id in the admin API. */
  readonly reference?: { readonly member: string; readonly field: string; readonly kind: string }
  /** Members whose names differ in the admin API. */
  readonly read?: (shown: Item) => Item
  /** Members that a document never has, because ids differ between installations. */
  readonly without?: readonly string[]
  /** Members that a change merges. Every other member is replaced as a whole. */
  readonly merged?: readonly string[]
  /** Members that refer to items which are created later. They are set when all items exist. */
  readonly late?: readonly string[]
  /** Whether an operator set up an item. Default: always true. */
  readonly ours?: (shown: Item) => boolean
}

const byId = (shown: Item) => ({ id: String(shown['id']) })
const ofIdp = { member: 'idp', field: 'idp_id', kind: 'idps' } as const

/** In the order of creation: an item comes after the items that it refers to. */
export const KINDS: readonly Kind[] = [
  { name: 'providers', resource: 'provider', key: ['slug'], at: byId },
  {
    name: 'clients',
    resource: 'client',
    key: ['client_id'],
    at: ({ client_id }) => ({ client_id: String(client_id) }),
    late: ['default_resource'],
    ours: ({ registration_source }) => registration_source === 'admin',
  },
  {
    name: 'resources',
    resource: 'resource',
    key: ['slug'],
    at: byId,
    merged: ['policy'],
    without: ['broker_provider_id'],
  },
  {
    name: 'fronting',
    resource: 'fronting',
    key: ['source', 'target'],
    read: ({ source_slug, target_slug, ...shown }) => ({ ...shown, source: source_slug, target: target_slug }),
    at: ({ source_slug, target_slug }) => ({ source: String(source_slug), target: String(target_slug) }),
  },
  { name: 'idps', resource: 'idp', key: ['issuer'], at: byId },
  { name: 'policies', resource: 'policy', key: ['idp', 'name'], at: byId, reference: ofIdp },
  { name: 'mappings', resource: 'mapping', key: ['idp', 'federated_subject'], at: byId, reference: ofIdp },
]

/** The kind with a name, or undefined. */
export const kindNamed = (name: string | undefined): Kind | undefined => KINDS.find((kind) => kind.name === name)

/** The operation that changes an item of a kind, or undefined. */
export const updateOf = ({ resource }: Kind): Action | undefined => findAction(resource, 'update')

/** The key of an item as text. */
export const itemKey = ({ key }: Kind, item: Item): string => key.map((name) => String(item[name] ?? '')).join(' ')

/** The members that items of a kind have in a document, key members first. */
export function membersOf(kind: Kind): string[] {
  const { properties = {} } = z.toJSONSchema(bodyOf(kind), { io: 'input', unrepresentable: 'any' })
  const { key, reference, without = [] } = kind
  const names = Object.keys(properties).map((name) => (name === reference?.field ? reference.member : name))
  return [...key, ...names.filter((name) => ![...key, ...without].includes(name))]
}

/** The schema of the body that creates an item. */
export function bodyOf(kind: Kind): z.ZodType {
  const { body } = actionNamed(kind.resource, 'create')
  if (!body) throw new Error(`${kind.name} are created without a body`)
  return body
}
