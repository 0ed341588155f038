// Replay protection: a value is used exactly once. A set in memory covers this process; the store covers restarts and other processes.
import { hash } from 'node:crypto'
import type { App } from '../context.ts'
import { codeOf, OAuthError } from '../lib/error.ts'
import { idFloor, newId } from '../lib/id.ts'
import { ReplaySet } from '../lib/replay_set.ts'
import { type Clock, DAY } from '../lib/time.ts'
import type { SingleUse } from '../records/single_use.ts'
import type { Store } from '../store/index.ts'

const HASH_BYTES = 16
/** Maximum number of unexpired uses: about ten thousand proofs a second for two minutes. */
const MAX_USES = 1_500_000
/** Maximum number of seconds that a use is remembered. */
const MAX_AGE = DAY

/** Opens the replay cache with the unexpired uses that the store has recorded. */
export async function openReplayCache(store: Store, clock: Clock): Promise<ReplaySet> {
  const used = new ReplaySet(MAX_USES)
  const now = clock.now()
  for (const use of await store.listUses({ since: idFloor(now - MAX_AGE), now }))
    used.add(keyOf(use), use.expires_at, now)
  return used
}

/**
 * Uses `value` once. Values are separate for each `owner` (a key, an issuer), so that one owner cannot use up the values of another.
 * Returns the record, which must be committed together with or before what depends on it; undefined when the value was used before.
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

/** Uses `value` once and commits that immediately. False when it was used before, in this process or in another one. */
export async function consumeOnce(
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
    await releaseUse(app, use, error)
    throw error
  }
}

/** Allows a proof or assertion to be sent again after the storage was unavailable: the failed request has stored nothing, or its operation is undone. */
export async function releaseUse(app: App, use: SingleUse | undefined, error: unknown): Promise<void> {
  if (use && error instanceof OAuthError && error.reason === 'storage_unavailable') await app.replays.remove(keyOf(use))
}

/** Whether an error of the store means that another process has already used the proof or assertion. */
export const isUsedBefore = (error: unknown): boolean => codeOf(error) === 'USED_BEFORE'

const keyOf = ({ kind, hash }: SingleUse): string => `${kind[0]}${hash}`
