// The only place that chooses the source of the signing keys.
import path from 'node:path'
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../lib/time.ts'
import type { Alg } from '../records/jwk.ts'
import type { Store } from '../store/index.ts'
import { databaseKeys, keyTable } from './database_keys.ts'
import type { AtRest } from './encryption.ts'
import { withIdTokenKeys } from './id_token_keys.ts'
import type { KeySource, MayMakeFirst } from './key_source.ts'
import { ID_TOKEN_FOLDER, keyfileStore } from './keyfile.ts'
import { type KeyStore, storedKeys } from './stored_keys.ts'
import type { TransitParts } from './transit/client.ts'
import { type AheadMark, transitKeys } from './transit/keys.ts'

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

/** The source of signing.key_store. An OpenID provider has keys for ID tokens in addition. */
export function keySource(config: Config, parts: SourceParts): KeySource {
  const { algorithm } = config.signing
  const { mayMakeFirst, transit } = parts
  const signing = sourceOf(config, parts, { alg: algorithm, mayMakeFirst })
  if (!config.oauth.openid) return signing
  return withIdTokenKeys({
    signing,
    open: (alg, mayMake) => sourceOf(config, parts, { alg, mayMakeFirst: mayMake, isIdToken: true }),
    log: transit.log,
  })
}

interface Kind {
  alg: Alg
  mayMakeFirst: MayMakeFirst
  isIdToken?: true
}

function sourceOf(config: Config, parts: SourceParts, { isIdToken, ...kind }: Kind): KeySource {
  const { signing, storage } = config
  const wanted = { ...kind, longestLife: longestLife(config) }
  if (signing.key_store !== 'secretstore_transit')
    return storedKeys({
      ...wanted,
      store: keyStore(config, parts, isIdToken),
      clock: parts.clock,
      log: parts.transit.log,
    })
  const { address, timeout, mount, key_name, token, approle } = signing.secretstore_transit
  const name = isIdToken ? `${key_name}-id-token` : key_name
  const credentials = token ? { token } : approle
  const access = { setting: 'signing.secretstore_transit', address, timeout, credentials }
  const announce = storage.driver === 'postgres' ? () => parts.store.announceKeys() : undefined
  const ahead = aheadMark(parts, `${mount}/${name}`, isIdToken)
  return transitKeys({ ...wanted, access, mount, name, announce, ahead }, parts.transit)
}

/** Stored in the database, by the name of the key. */
const aheadMark = ({ store, clock }: SourceParts, key: string, isIdToken = false): AheadMark => {
  const name = isIdToken ? 'transit_id_token_key_with_next' : 'transit_key_with_next'
  return {
    isSet: async () => (await store.findSetting({ name })) === key,
    set: () => store.saveSetting({ name, value: key, now: clock.now() }),
  }
}

function keyStore({ signing }: Config, { store, atRest }: SourceParts, isIdToken = false): KeyStore {
  if (signing.key_store === 'keyfile')
    return keyfileStore(isIdToken ? path.join(signing.key_path, ID_TOKEN_FOLDER) : signing.key_path)
  if (signing.key_store === 'postgres_key' && atRest) return databaseKeys(keyTable(store, isIdToken), atRest)
  throw new Error('signing.key_store postgres_key needs data_encryption.driver')
}
