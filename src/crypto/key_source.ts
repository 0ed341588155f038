// The interface of key stores for the keyring: a folder, a database, or a remote engine that signs.
import type { KeyObject } from 'node:crypto'
import type { LaneStats } from '../lib/threads/lane.ts'
import type { Jwk, KeyTimes } from '../records/jwk.ts'
import type { IdTokenAlg } from '../records/rare_members.ts'
import type { RemoteSigner } from './pool.ts'

export interface SourceKey extends KeyTimes {
  /** The public key. */
  jwk: Jwk
  /** The private key, or the signer that has it. */
  key: KeyObject | RemoteSigner
  /** Signs only ID tokens and logout tokens, whose algorithm is not that of access tokens. */
  isIdToken?: true
}

/**
 * Called before the first key of a source is created. Resolves to false if no key may be created, and rejects if the missing
 * keys existed before.
 */
export type MayMakeFirst = () => Promise<boolean>
/** For sources whose keys cannot be missing. */
export const always: MayMakeFirst = async () => true

/** Lists of keys are ordered: the previous keys, oldest first, then the current key, then the next key. */
export interface KeySource {
  /** Its name in the configuration. */
  readonly name: string
  /** Every key. Creates the first key if there is none and one may be created. Rejects when the keys cannot be used. */
  load(): Promise<SourceKey[]>
  /** Makes the next key current. No process signs with a key before every process has it. */
  rotate(): Promise<SourceKey[]>
  /** Removes a key permanently. If it is the current key, another one becomes current. Undefined when the key does not exist. */
  revoke(kid: string): Promise<SourceKey[] | undefined>
  /** Creates a key of ID tokens with this algorithm if there is none. Absent when the service issues no ID tokens. */
  prepare?(alg: IdTokenAlg): Promise<SourceKey[]>
  /** Set when the keys sign elsewhere. */
  readonly remote?: RemoteState
  /** Calls `changed` whenever another process may have changed the keys. Returns a function that stops this. */
  watch?(changed: () => void): () => void
}

/** The state of a remote engine that signs. */
export interface RemoteState {
  /** The queue of signatures. */
  readonly lane: LaneStats
  /** Whether its last calls all failed. */
  readonly isUnavailable: boolean
}

/** The key that new tokens are signed with. Throws when there is none. */
export function currentOf<K extends KeyTimes>(keys: readonly K[]): K {
  const current = keys.findLast((key) => !key.next)
  if (!current) throw new Error('the key store contains no key')
  return current
}
