// The private keys of one crypto thread. Sending a key to a thread is expensive, so that it keeps the keys in use, and no other one for long.
import type { LocalKey } from './batch.ts'

/** Milliseconds after its last use after which the next batch removes a key: the current key is used all the time, a retired one never again. */
export const HELD_MS = 10 * 60_000

/** Creates the store of a thread. */
export function createHeldKeys() {
  const held = new Map<string, { key: LocalKey; usedMs: number }>()
  return {
    /** The key with a name, which counts as a use. */
    find(name: string, nowMs: number): LocalKey | undefined {
      const found = held.get(name)
      if (found) found.usedMs = nowMs
      return found?.key
    },
    /** Stores keys, and removes those that have not been used for HELD_MS. */
    add(keys: readonly LocalKey[], nowMs: number): void {
      for (const [name, { usedMs }] of held) if (nowMs - usedMs > HELD_MS) held.delete(name)
      for (const key of keys) held.set(key.name, { key, usedMs: nowMs })
    },
  }
}
