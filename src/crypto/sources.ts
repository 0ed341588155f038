// The only place that chooses the source of the signing keys.
import path from 'node:path'
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../lib/time.ts'
import type { Store } from '../store/index.ts'
import { databaseKeys } from './database_keys.ts'
import type { AtRest } from './encryption.ts'
import type { KeySource, MayMakeFirst } from './key_source.ts'
import { keyfileStore } from './keyfile.ts'
import { type KeyStore, storedKeys } from './stored_keys.ts'
import type { TransitParts } from './transit_client.ts'
import { type AheadMark, transitKeys } from './transit_keys.ts'

export interface SourceParts {
  store: Store
  atRest: AtRest | undefined
  transit: TransitParts
  clock: Clock
  mayMakeFirst: MayMakeFirst
}

/** The location of the keys, for operators. */
export const keyPlace = ({ signing }: Config): string => {
  const { mount, key_name } = signing.secretstore_transit
  if (signing.key_store === 'keyfile') return path.resolve(signing.key_path)
  return signing.key_store === 'postgres_key'
    ? 'the database (postgres_key)'
    : `the transit engine (${mount}/${key_name})`
}

/** The source of signing.key_store. */
export function keySource(config: Config, parts: SourceParts): KeySource {
  const { signing, storage } = config
  const wanted = { alg: signing.algorithm, longestLife: longestLife(config), mayMakeFirst: parts.mayMakeFirst }
  if (signing.key_store !== 'secretstore_transit')
    return storedKeys({ ...wanted, store: keyStore(config, parts), clock: parts.clock, log: parts.transit.log })
  const { address, timeout, mount, key_name: name, token, approle } = signing.secretstore_transit
  const credentials = token ? { token } : approle
  const access = { setting: 'signing.secretstore_transit', address, timeout, credentials }
  const announce = storage.driver === 'postgres' ? () => parts.store.announceKeys() : undefined
  const ahead = aheadMark(parts, `${mount}/${name}`)
  return transitKeys({ ...wanted, access, mount, name, announce, ahead }, parts.transit)
}

/** Stored in the database, by the name of the key. */
const aheadMark = ({ store, clock }: SourceParts, key: string): AheadMark => ({
  isSet: async () => (await store.findSetting({ name: AHEAD_SETTING })) === key,
  set: () => store.saveSetting({ name: AHEAD_SETTING, value: key, now: clock.now() }),
})
const AHEAD_SETTING = 'transit_key_with_next'

function keyStore({ signing }: Config, { store, atRest }: SourceParts): KeyStore {
  if (signing.key_store === 'keyfile') return keyfileStore(signing.key_path)
  if (signing.key_store === 'postgres_key' && atRest) return databaseKeys(store, atRest)
  throw new Error('signing.key_store postgres_key needs data_encryption.driver')
}
