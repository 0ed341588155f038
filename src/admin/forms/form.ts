// How the admin page arranges the form of an operation: what the schema of its body does not state.

/** The rules of a form. */
export interface FormRules {
  /** What a form for a new item asks first. */
  readonly question?: string
  /** The answers to the question, by name. */
  readonly kinds?: Readonly<Record<string, FormKind>>
  /** By the path of a member, such as `policy.runtime.client_ids`. Members of the items of a list have the path of the list. */
  readonly fields: Readonly<Record<string, FieldRule>>
}

/** A kind of new item. */
export interface FormKind {
  readonly title: string
  readonly about?: string
  /** Where the item is registered on the other side. May contain the placeholder. */
  readonly link?: string
  /** What the values contain a placeholder for, such as `{domain}`. */
  readonly asks?: { readonly name: string; readonly label: string; readonly example: string }
  /** Values that the form begins with. */
  readonly start: Readonly<Record<string, unknown>>
}

export interface FieldRule {
  /** The item needs the field, although the schema allows it to be absent. */
  readonly needed?: true
  /** The field is among the advanced ones. */
  readonly advanced?: true
  /** The field is shown only while another field has one of the values. */
  readonly when?: readonly [field: string, ...values: string[]]
  readonly kind?: FieldKind
}

/** Kinds of item that a field searches for and names. */
export type PickKind = 'client' | 'user' | 'group' | 'resource' | 'resource_uri' | 'provider' | 'scope'

/**
 * What the field is, where its schema does not determine it: names of other items, a map between the scopes of two resources, or an
 * object whose members depend on the value of the field `protocol`.
 */
export type FieldKind = PickKind | 'scope_map' | 'by_protocol'
