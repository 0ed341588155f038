// What a set-up document can hold: kinds of things that the admin API keeps, each known by a name of its own.
import { z } from 'zod'
import type { Action } from '../../admin/action.ts'
import { actionNamed, findAction } from '../../admin/index.ts'

export type Item = Record<string, unknown>

/** Whether a value is an object, and no list. */
export const isItem = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface Kind {
  /** The member of the document that lists them. */
  readonly name: string
  /** The admin resource that keeps them. */
  readonly resource: string
  /** The members that together say which one it is. */
  readonly key: readonly string[]
  /** The parameters by which the admin API takes one for changing it. */
  readonly at: (shown: Item) => Record<string, string>
  /** Members that name a thing of another kind: by its key in a document, by its id in the admin API. */
  readonly reference?: { readonly member: string; readonly field: string; readonly kind: string }
  /** What the admin API shows in the members of a document, where those have other names. */
  readonly read?: (shown: Item) => Item
  /** Members that no document has: ids are others elsewhere. */
  readonly without?: readonly string[]
  /** Members of which a change names only a part; any other is replaced as a whole. */
  readonly merged?: readonly string[]
  /** Members that name things which are made later: they are set when everything is there. */
  readonly late?: readonly string[]
  /** Whether what the admin API shows was set up by an operator; without it everything was. */
  readonly ours?: (shown: Item) => boolean
}

const byId = (shown: Item) => ({ id: String(shown['id']) })
const ofIdp = { member: 'idp', field: 'idp_id', kind: 'idps' } as const

/** In the order in which they are made: whatever names another comes after it. */
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

/** The kind of a name; undefined for another word, and for none. */
export const kindNamed = (name: string | undefined): Kind | undefined => KINDS.find((kind) => kind.name === name)

/** How one of a kind is changed; undefined where it cannot be. */
export const updateOf = ({ resource }: Kind): Action | undefined => findAction(resource, 'update')

/** What one of a kind is called: the values of its key. */
export const itemKey = ({ key }: Kind, item: Item): string => key.map((name) => String(item[name] ?? '')).join(' ')

/** The members that things of a kind have in a document, those of the key first. */
export function membersOf(kind: Kind): string[] {
  const { properties = {} } = z.toJSONSchema(bodyOf(kind), { io: 'input', unrepresentable: 'any' })
  const { key, reference, without = [] } = kind
  const names = Object.keys(properties).map((name) => (name === reference?.field ? reference.member : name))
  return [...key, ...names.filter((name) => ![...key, ...without].includes(name))]
}

/** The schema of what creates one. */
export function bodyOf(kind: Kind): z.ZodType {
  const { body } = actionNamed(kind.resource, 'create')
  if (!body) throw new Error(`${kind.name} are created without a body`)
  return body
}
