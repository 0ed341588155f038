// The signing keys in a front thread: the ones that the main thread has, which alone reads, makes and changes them.
import type { KeyObject } from 'node:crypto'
import type { KeySource, SourceKey } from './key_source.ts'

/** A key as it crosses to a front thread: without its private part where an engine signs. */
export type SharedKey = Omit<SourceKey, 'key'> & { key?: KeyObject }

/** The keys of the main thread as they cross. */
export const sharedKeys = (keys: readonly SourceKey[]): SharedKey[] =>
  keys.map(({ key, ...rest }) => ('sign' in key ? rest : { ...rest, key }))

export interface SharedSource extends KeySource {
  /** Takes over what the main thread has now; the keyring is to be reloaded then. */
  take(keys: SharedKey[]): void
}

export interface SharedSourceOptions {
  name: string
  keys: SharedKey[]
  /** Has the main thread sign, where an engine does. */
  sign(input: { kid: string; input: string }): Promise<string>
}

/** The source of a front thread. It cannot change keys: the admin listener is on the main thread. */
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
