// Which place the signing keys come from: chosen here, and nowhere else.
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../lib/time.ts'
import type { Store } from '../store/index.ts'
import type { AtRest } from './at_rest.ts'
import { databaseKeys } from './database_keys.ts'
import type { KeySource } from './key_source.ts'
import { keyfileStore } from './keyfile.ts'
import { type KeyStore, storedKeys } from './stored_keys.ts'

export interface SourceParts {
  store: Store
  atRest: AtRest | undefined
  clock: Clock
}

/** The source of signing.key_store. */
export function keySource(config: Config, parts: SourceParts): KeySource {
  return storedKeys({
    store: keyStore(config, parts),
    alg: config.signing.algorithm,
    longestLife: longestLife(config),
    clock: parts.clock,
  })
}

function keyStore({ signing }: Config, { store, atRest }: SourceParts): KeyStore {
  if (signing.key_store === 'keyfile') return keyfileStore(signing.key_path)
  if (signing.key_store === 'postgres_key' && atRest) return databaseKeys(store, atRest)
  throw new Error(`signing.key_store ${signing.key_store} is not built yet in this version`)
}
