// Secrets of the configuration: text like any other for who uses it, but nothing that the log takes or that JSON shows.

declare const mark: unique symbol
/** Text that may not be logged: the type of a log field refuses it. */
export type Secret = string & { readonly [mark]: never }

/** Puts a secret into an object so that it is found by name only: JSON, copies and inspection leave it out. */
export function putSecret(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: false, writable: true, configurable: true })
}

/** A value that crosses to another thread with its secrets, which copies otherwise leave out. */
export interface Carried {
  list?: Carried[]
  shown?: Record<string, Carried>
  secret?: Record<string, Carried>
  plain?: unknown
}

/** Packs a value of plain objects, lists and texts for another thread; openCarried() makes it again. */
export function carried(value: unknown): Carried {
  if (Array.isArray(value)) return { list: value.map(carried) }
  if (typeof value !== 'object' || value === null) return { plain: value }
  const packed: Required<Pick<Carried, 'shown' | 'secret'>> = { shown: {}, secret: {} }
  for (const name of Object.getOwnPropertyNames(value)) {
    const isShown = Object.prototype.propertyIsEnumerable.call(value, name)
    packed[isShown ? 'shown' : 'secret'][name] = carried((value as Record<string, unknown>)[name])
  }
  return packed
}

/** The value that carried() packed, its secrets hidden as before. */
export function openCarried({ list, shown, secret, plain }: Carried): unknown {
  if (list) return list.map(openCarried)
  if (!shown) return plain
  const value = Object.fromEntries(Object.entries(shown).map(([name, each]) => [name, openCarried(each)]))
  for (const [name, each] of Object.entries(secret ?? {})) putSecret(value, name, openCarried(each))
  return value
}
