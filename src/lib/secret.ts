// Secrets of the configuration: text like any other for who uses it, but nothing that the log takes or that JSON shows.

declare const mark: unique symbol
/** Text that may not be logged: the type of a log field refuses it. */
export type Secret = string & { readonly [mark]: never }

/** Puts a secret into an object so that it is found by name only: JSON, copies and inspection leave it out. */
export function putSecret(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: false, writable: true, configurable: true })
}
