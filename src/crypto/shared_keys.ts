// The signing keys in a front thread: copies from the main thread. Only the main thread reads, creates and changes keys.
import type { KeyObject } from 'node:crypto'
import type { IdTokenAlg } from '../records/rare_members.ts'
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
  /** Creates a key of ID tokens. Resolves when this thread has it. */
  prepare(alg: IdTokenAlg): Promise<unknown>
}

/** The key source of a front thread. It cannot change keys, because the admin listener is on the main thread. */
export function sharedSource({ name, keys: first, sign, prepare }: SharedSourceOptions): SharedSource {
  let keys = first
  const loaded = () =>
    keys.map(({ key, ...rest }) => ({
      ...rest,
      key: key ?? { sign: (input: string) => sign({ kid: rest.kid, input }) },
    }))
  const notHere = async (): Promise<never> => {
    throw new Error('keys are changed by the main thread only')
  }
  return {
    name,
    take(fresh) {
      keys = fresh
    },
    load: async () => loaded(),
    async prepare(alg) {
      await prepare(alg)
      return loaded()
    },
    rotate: notHere,
    revoke: notHere,
  }
}
