// Decides whether a first key may be created. If live tokens were signed, or values of the database encrypted, with keys that are missing, the
// right keys are elsewhere: a new key would invalidate every live token, or could decrypt none of these values.
import { longestLife } from '../config/lifetimes.ts'
import type { Config } from '../config/schema.ts'
import { idFloor } from '../lib/id.ts'
import { SEALED_COLUMNS } from '../store/sealed.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { AtRestParts } from './at_rest.ts'
import { keyPlace, type SourceParts } from './sources.ts'

export interface FirstKeyOptions {
  /** Only a process that may create a database may create the first key. */
  creates: boolean
  /** Allows a new key even if live tokens were signed, or values were encrypted, with keys that are missing. */
  newKeys: boolean
}

export type KeyRules = Pick<SourceParts, 'mayMakeFirst'> & Pick<AtRestParts, 'mayMakeKey'>

/** Why a new key would cause damage, and the alternative. */
interface Missing {
  what: string
  instead: string
  /** The key that signed the newest live token. */
  kid?: string
}

/** The rules for the keys of a configuration. They reject with a message for operators. */
export function firstKeyRules(
  config: Config,
  { store, clock, log }: Pick<SourceParts, 'store' | 'clock'> & { log?: Logger },
  { creates, newKeys }: FirstKeyOptions,
): KeyRules {
  const unless = (missing: () => Promise<Missing | undefined>) => async () => {
    if (!creates) return false
    const found = await missing()
    if (!found) return true
    if (!newKeys) throw new Error(`${found.what}: is --config right? ${found.instead}`)
    log?.warn({ kid: found.kid, reason: found.what }, 'a new key is created, because --new-keys is set')
    return true
  }
  return {
    mayMakeFirst: unless(async () => {
      const now = clock.now()
      const kid = await store.findLiveKid({ after: idFloor(now - longestLife(config)), now })
      if (!kid) return undefined
      return {
        kid,
        what: `no signing key in ${keyPlace(config)}, but live tokens in the database were signed with ${kid}`,
        instead: 'Restore the keys, or start with --new-keys, which invalidates these tokens',
      }
    }),
    mayMakeKey: unless(async () => {
      const { mount_path, key_name } = config.data_encryption.secretstore_transit_encrypt
      for (const [column, { table }] of SEALED_COLUMNS.entries())
        if ((await store.listSealed({ column, after: undefined, rows: 1 })).length > 0)
          return {
            what: `there is no key ${mount_path}/${key_name}, but the database has sealed values (${table})`,
            instead: 'Restore the key, or start with --new-keys, which leaves these values unreadable',
          }
      return undefined
    }),
  }
}
