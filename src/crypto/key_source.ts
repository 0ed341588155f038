// What a keyring needs of the place its keys are in, be it a folder, a database or an engine that signs by itself.
import type { KeyObject } from 'node:crypto'
import type { LaneStats } from '../lib/lane.ts'
import type { Jwk } from '../records/jwk.ts'
import type { KeyTimes } from '../records/key_times.ts'
import type { RemoteSigner } from './pool.ts'

export interface SourceKey extends KeyTimes {
  /** The public key. */
  jwk: Jwk
  /** The private key, or who signs with it. */
  key: KeyObject | RemoteSigner
}

/**
 * Asked before the first key of a source is made: resolves to false where none may be made, and rejects where the keys that
 * are missing were there before.
 */
export type MayMakeFirst = () => Promise<boolean>
/** Where nothing can be missing. */
export const always: MayMakeFirst = async () => true

/** Lists of keys are oldest first: the ones before the current one, the current one, the next one. */
export interface KeySource {
  /** Its name in the configuration. */
  readonly name: string
  /** Every key; makes the first one where there is none and one may be made. Rejects when they cannot be used. */
  load(): Promise<SourceKey[]>
  /** Makes another key current. No process signs with a key before every process has it. */
  rotate(): Promise<SourceKey[]>
  /** Takes a key out for good; of the current one another takes the place. Undefined when it is not there. */
  revoke(kid: string): Promise<SourceKey[] | undefined>
  /** Set when the keys sign elsewhere. */
  readonly remote?: RemoteState
  /** Calls `changed` whenever the keys may have been changed by somebody else. Returns how to stop that. */
  watch?(changed: () => void): () => void
}

/** How it goes with an engine that signs. */
export interface RemoteState {
  /** The queue of what is to be signed. */
  readonly lane: LaneStats
  /** Its last calls failed one after the other. */
  readonly isAway: boolean
}

/** The key that new tokens are signed with. Throws when there is none. */
export function currentOf<K extends KeyTimes>(keys: readonly K[]): K {
  const current = keys.findLast((key) => !key.next)
  if (!current) throw new Error('the key store holds no key')
  return current
}
