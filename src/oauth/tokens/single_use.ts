// Replay protection: a value is used exactly once. A set in memory covers this process; the store covers restarts and other processes.
import { hash } from 'node:crypto'
import type { App } from '../../context.ts'
import { codeOf, OAuthError } from '../../lib/error.ts'
import { idFloor, newId } from '../../lib/id.ts'
import { ReplaySet } from '../../lib/replay_set.ts'
import { type Clock, DAY } from '../../lib/time.ts'
import { type SingleUse, USED_BEFORE } from '../../records/single_use.ts'
import type { Store } from '../../store/index.ts'

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
  return use !== undefined && (await commitUse(app, use))
}

/** Commits a use alone. False when another process has used the value before. */
export async function commitUse(app: App, use: SingleUse): Promise<boolean> {
  try {
    await app.store.recordUse(use)
    return true
  } catch (error) {
    if (usedBefore(error)) return false
    if (isNothingStored(error)) await app.replays.remove(keyOf(use))
    throw error
  }
}

/**
 * Ends the uses of a token request that was refused with `error`. If the storage was unavailable, the client may send the same proof and
 * assertion again. Otherwise an assertion is used, at every instance, as if a token was issued. A proof is used at this instance only.
 */
export async function endUses(app: App, uses: readonly SingleUse[], error: unknown): Promise<void> {
  for (const use of uses)
    if (isNothingStored(error)) await app.replays.remove(keyOf(use))
    else if (use.kind === 'client_assertion') await commitUse(app, use)
}

/** The failed request has stored nothing, or its operation is undone. */
const isNothingStored = (error: unknown): boolean =>
  error instanceof OAuthError && error.reason === 'storage_unavailable'

/** Which value another process has used before, if that is why an operation of the store failed. */
export function usedBefore(error: unknown): SingleUse['kind'] | undefined {
  const code = codeOf(error)
  return code?.startsWith(USED_BEFORE) ? (code.slice(USED_BEFORE.length) as SingleUse['kind']) : undefined
}

const keyOf = ({ kind, hash }: SingleUse): string => `${kind[0]}${hash}`
