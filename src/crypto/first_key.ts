// Whether the first signing key may be made. Where live tokens were signed with keys that are not there, the right ones are
// somewhere else, and a new one would end every live token.
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import { idFloor } from '../lib/id.ts'
import type { Clock } from '../lib/time.ts'
import type { Store } from '../store/index.ts'
import type { MayMakeFirst } from './key_source.ts'
import { keyPlace } from './sources.ts'

export interface FirstKeyOptions {
  /** Only what may make a database may make the first key. */
  creates: boolean
  /** Even if live tokens were signed with keys that are not there. */
  newKeys: boolean
}

/** The rule for the keys of a configuration. It rejects with words for the operator. */
export const firstKeyRule =
  (
    config: Config,
    { store, clock }: { store: Store; clock: Clock },
    { creates, newKeys }: FirstKeyOptions,
  ): MayMakeFirst =>
  async () => {
    if (!creates || newKeys) return creates
    const now = clock.now()
    const kid = await store.findLiveKid({ after: idFloor(now - longestLife(config)), now })
    if (kid === undefined) return true
    throw new Error(
      `no signing key in ${keyPlace(config)}, but live tokens in the database were signed with ${kid}: is --config right? Restore the keys, or start with --new-keys, which ends these tokens`,
    )
  }
