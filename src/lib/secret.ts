// Secrets of the configuration: normal text for their users, but excluded from logs and JSON.

declare const mark: unique symbol
/** Text that must not be logged: the type of log fields excludes it. */
export type Secret = string & { readonly [mark]: never }

/** Adds a secret to an object as a non-enumerable property: JSON, copies and inspection omit it. */
export function putSecret(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: false, writable: true, configurable: true })
}

/** A value with its secrets, for another thread. Other copies of the value omit the secrets. */
export interface Serialised {
  list?: Serialised[]
  shown?: Record<string, Serialised>
  secret?: Record<string, Serialised>
  plain?: unknown
}

/** Packs a value of plain objects, lists and texts for another thread; deserialise() restores it. */
export function serialise(value: unknown): Serialised {
  if (Array.isArray(value)) return { list: value.map(serialise) }
  if (typeof value !== 'object' || value === null) return { plain: value }
  const packed: Required<Pick<Serialised, 'shown' | 'secret'>> = { shown: {}, secret: {} }
  for (const name of Object.getOwnPropertyNames(value)) {
    const isShown = Object.prototype.propertyIsEnumerable.call(value, name)
    packed[isShown ? 'shown' : 'secret'][name] = serialise((value as Record<string, unknown>)[name])
  }
  return packed
}

/** The value that serialise() packed. Its secrets are not enumerable again. */
export function deserialise({ list, shown, secret, plain }: Serialised): unknown {
  if (list) return list.map(deserialise)
  if (!shown) return plain
  const value = Object.fromEntries(Object.entries(shown).map(([name, each]) => [name, deserialise(each)]))
  for (const [name, each] of Object.entries(secret ?? {})) putSecret(value, name, deserialise(each))
  return value
}
