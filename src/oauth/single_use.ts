// Using something once: exactly, within this process by a set in memory, across restarts and processes by the store.
import { hash } from 'node:crypto'
import type { App } from '../context.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { idFloor, newId } from '../lib/id.ts'
import { ReplaySet } from '../lib/replay_set.ts'
import { type Clock, DAY } from '../lib/time.ts'
import type { SingleUse } from '../records/single_use.ts'
import type { Store } from '../store/index.ts'

const HASH_BYTES = 16
/** Uses that may count at one time: about ten thousand proofs a second for two minutes. */
const MAX_USES = 1_500_000
/** Seconds that anything is remembered at most. */
const LONGEST = DAY

/** Fills the set with what was used before this process began. */
export async function openReplayCache(store: Store, clock: Clock): Promise<ReplaySet> {
  const used = new ReplaySet(MAX_USES)
  const now = clock.now()
  for (const use of await store.listUses({ since: idFloor(now - LONGEST), now }))
    used.add(keyOf(use), use.expires_at, now)
  return used
}

/**
 * Uses `value`, whose `owner` (a key, an issuer) keeps others from using it up. Returns the record, which must be
 * committed with or before what rests on it; undefined when it was used before.
 */
export async function useOnce(
  app: App,
  kind: SingleUse['kind'],
  owner: string,
  value: string,
  expires_at: number,
): Promise<SingleUse | undefined> {
  const digest = hash('sha256', JSON.stringify([owner, value]), 'buffer')
    .subarray(0, HASH_BYTES)
    .toString('base64url')
  const use: SingleUse = { id: newId(), kind, hash: digest, expires_at: Math.ceil(expires_at) }
  return (await app.replays.add(keyOf(use), use.expires_at, app.clock.now())) ? use : undefined
}

/** Uses `value` at once, with nothing that is to be committed with it. False when it was used before, here or in another process. */
export async function useUp(
  app: App,
  kind: SingleUse['kind'],
  owner: string,
  value: string,
  expires_at: number,
): Promise<boolean> {
  const use = await useOnce(app, kind, owner, value, expires_at)
  if (!use) return false
  try {
    await app.store.recordUse(use)
    return true
  } catch (error) {
    if (isUsedBefore(error)) return false
    await giveBack(app, use, error)
    throw error
  }
}

/** Lets a proof or assertion be sent again after a request that failed because the storage was not available: nothing of it is stored, or it is taken back. */
export async function giveBack(app: App, use: SingleUse | undefined, error: unknown): Promise<void> {
  if (use && error instanceof OAuthError && error.reason === 'storage_unavailable') await app.replays.remove(keyOf(use))
}

/** Another process was first to use a proof or assertion: what the store throws. */
export const isUsedBefore = (error: unknown): boolean => codeOf(error) === 'USED_BEFORE'

const keyOf = ({ kind, hash }: SingleUse): string => `${kind[0]}${hash}`
