// Who may register clients dynamically. A mode that operators set at run time takes precedence over the configuration.

import { DCR_MODES } from '../../config/oauth_keys.ts'
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'

type DcrMode = (typeof DCR_MODES)[number]

const SETTING = 'dcr.mode'

/** The mode in force. If this version does not know the stored mode, it is admin_only. */
export async function effectiveDcrMode({ store, config }: Pick<App, 'store' | 'config'>): Promise<DcrMode> {
  const saved = await store.findSetting({ name: SETTING })
  if (saved === undefined) return config.dcr.mode
  return DCR_MODES.find((mode) => mode === saved) ?? 'admin_only'
}

/** The stored setting of a mode. It takes precedence over the configuration, also after a restart. */
export const dcrModeSetting = ({ clock }: Pick<App, 'clock'>, mode: DcrMode) => ({
  name: SETTING,
  value: mode,
  now: clock.now(),
})

/** The limit on registrations, for all instances together. A reload may change it. */
export const openRegistrationLimit = ({ dcr }: Config, store: BucketStore): SharedBuckets => {
  const limit = {
    get rate() {
      return dcr.rate_limit
    },
    get burst() {
      return dcr.rate_limit_burst
    },
  }
  return new SharedBuckets('register', limit, store)
}
