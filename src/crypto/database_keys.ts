// The postgres_key store: private keys in the database, each encrypted for its kid.
import { setTimeout as sleep } from 'node:timers/promises'
import { OAuthError } from '../lib/error.ts'
import { STALE_MS } from '../store/cache.ts'
import type { Store } from '../store/index.ts'
import { signingKeyRow } from '../store/sealed.ts'
import type { SealedKey } from '../store/tokens/signing_keys.ts'
import type { AtRest } from './encryption.ts'
import type { KeyStore, StoredKey } from './stored_keys.ts'

/** Delays before the next attempt, after another instance has changed the keys first. */
const RETRY_DELAYS_MS = [100, 200, 400]

/** The table of one kind of keys. */
export interface KeyTable {
  list(): Promise<SealedKey[]>
  save(change: { before: SealedKey[]; after: SealedKey[] }): Promise<boolean>
}
/** The table of the signing keys, or of the keys of ID tokens. */
export const keyTable = (store: Store, isIdToken: boolean): KeyTable =>
  isIdToken
    ? { list: () => store.listIdTokenKeys(), save: (change) => store.saveIdTokenKeys(change) }
    : { list: () => store.listSigningKeys(), save: (change) => store.saveSigningKeys(change) }

/** Opens the key store in a database. */
export function databaseKeys(table: KeyTable, atRest: AtRest): KeyStore {
  /** Texts that were decrypted or encrypted before, so that a remote engine is called only once for each. */
  let known = new Map<string, { sealed: string; pem: string }>()

  const open = async ({ private_key, ...key }: SealedKey): Promise<StoredKey> => {
    const before = known.get(key.kid)
    if (before?.sealed === private_key) return { ...key, pem: before.pem }
    const pem = await atRest.open('signing_key', signingKeyRow(key.kid), private_key)
    known.set(key.kid, { sealed: private_key, pem })
    return { ...key, pem }
  }
  const seal = async ({ pem, ...key }: StoredKey): Promise<SealedKey> => {
    const before = known.get(key.kid)
    if (before?.pem === pem) return { ...key, private_key: before.sealed }
    const sealed = await atRest.seal('signing_key', signingKeyRow(key.kid), pem)
    known.set(key.kid, { sealed, pem })
    return { ...key, private_key: sealed }
  }
  const read = async () => {
    const sealed = await table.list()
    const keys = await Promise.all(sealed.map(open))
    known = new Map([...known].filter(([kid]) => keys.some((key) => key.kid === kid)))
    return { sealed, keys }
  }

  return {
    name: 'postgres_key',
    seenAfterMs: STALE_MS,
    load: async () => (await read()).keys,
    async change(decide) {
      for (const delayMs of [0, ...RETRY_DELAYS_MS]) {
        if (delayMs > 0) await sleep(delayMs)
        const { sealed: before, keys } = await read()
        const decided = decide(keys)
        if (decided === keys) return keys
        const after = await Promise.all(decided.map(seal))
        if (await table.save({ before, after })) return decided
      }
      throw new OAuthError('conflict', 'the keys are being changed by another process; try again')
    },
  }
}
