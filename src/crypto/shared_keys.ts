// The signing keys in a front thread: copies from the main thread. Only the main thread reads, creates and changes keys.
import type { KeyObject } from 'node:crypto'
import type { KeySource, SourceKey } from './key_source.ts'

/** A key as it is sent to a front thread; without its private part if a remote engine signs. */
export type SharedKey = Omit<SourceKey, 'key'> & { key?: KeyObject }

/** The keys of the main thread in the form in which they are sent. */
export const sharedKeys = (keys: readonly SourceKey[]): SharedKey[] =>
  keys.map(({ key, ...rest }) => ('sign' in key ? rest : { ...rest, key }))

export interface SharedSource extends KeySource {
  /** Replaces the keys by those of the main thread. The keyring must be reloaded afterwards. */
  take(keys: SharedKey[]): void
}

export interface SharedSourceOptions {
  name: string
  keys: SharedKey[]
  /** Signs in the main thread, if a remote engine signs. */
  sign(input: { kid: string; input: string }): Promise<string>
}

/** The key source of a front thread. It cannot change keys, because the admin listener is on the main thread. */
export function sharedSource({ name, keys: first, sign }: SharedSourceOptions): SharedSource {
  let keys = first
  const notHere = async (): Promise<never> => {
    throw new Error('keys are changed by the main thread only')
  }
  return {
    name,
    take(fresh) {
      keys = fresh
    },
    load: async () =>
      keys.map(({ key, ...rest }) => ({ ...rest, key: key ?? { sign: (input) => sign({ kid: rest.kid, input }) } })),
    rotate: notHere,
    revoke: notHere,
  }
}
