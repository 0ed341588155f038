// Who may register clients dynamically. A mode that operators set at run time takes precedence over the configuration.

import { DCR_MODES } from '../config/oauth_keys.ts'
import type { App } from '../context.ts'

type DcrMode = (typeof DCR_MODES)[number]

const SETTING = 'dcr.mode'

/** The mode in force. If this version does not know the stored mode, it is admin_only. */
export async function effectiveDcrMode({ store, config }: Pick<App, 'store' | 'config'>): Promise<DcrMode> {
  const saved = await store.findSetting({ name: SETTING })
  if (saved === undefined) return config.dcr.mode
  return DCR_MODES.find((mode) => mode === saved) ?? 'admin_only'
}

/** Sets the mode permanently. It takes precedence over the configuration, also after a restart. */
export const saveDcrMode = ({ store, clock }: Pick<App, 'store' | 'clock'>, mode: DcrMode): Promise<void> =>
  store.saveSetting({ name: SETTING, value: mode, now: clock.now() })
