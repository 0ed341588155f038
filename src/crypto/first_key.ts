// Whether a first key may be made. Where live tokens were signed, or values of the database sealed, with keys that are not there, the
// right ones are somewhere else: a new one would end every live token, or open none of these values.
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import { idFloor } from '../lib/id.ts'
import { SEALED_COLUMNS } from '../store/sealed.ts'
import type { AtRestParts } from './at_rest.ts'
import { keyPlace, type SourceParts } from './sources.ts'

export interface FirstKeyOptions {
  /** Only what may make a database may make the first key. */
  creates: boolean
  /** Even if live tokens were signed, or values sealed, with keys that are not there. */
  newKeys: boolean
}

export type KeyRules = Pick<SourceParts, 'mayMakeFirst'> & Pick<AtRestParts, 'mayMakeKey'>

/** The rules for the keys of a configuration. They reject with words for the operator. */
export function firstKeyRules(
  config: Config,
  { store, clock }: Pick<SourceParts, 'store' | 'clock'>,
  { creates, newKeys }: FirstKeyOptions,
): KeyRules {
  /** `missing` says why a new key would do harm. */
  const unless = (missing: () => Promise<string | undefined>) => async () => {
    if (!creates || newKeys) return creates
    const said = await missing()
    if (said === undefined) return true
    throw new Error(said)
  }
  return {
    mayMakeFirst: unless(async () => {
      const now = clock.now()
      const kid = await store.findLiveKid({ after: idFloor(now - longestLife(config)), now })
      return (
        kid &&
        `no signing key in ${keyPlace(config)}, but live tokens in the database were signed with ${kid}: is --config right? Restore the keys, or start with --new-keys, which ends these tokens`
      )
    }),
    mayMakeKey: unless(async () => {
      const { mount_path, key_name } = config.data_encryption.secretstore_transit_encrypt
      for (const [column, { table }] of SEALED_COLUMNS.entries())
        if ((await store.listSealed({ column, after: undefined, rows: 1 })).length > 0)
          return `there is no key ${mount_path}/${key_name}, but the database has sealed values (${table}): is --config right? Restore the key, or start with --new-keys, which leaves these values unreadable`
      return undefined
    }),
  }
}
