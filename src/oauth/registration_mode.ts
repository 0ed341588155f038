// Who may register clients dynamically: the mode that operators set at run time wins over the configuration.

import { DCR_MODES } from '../config/oauth_keys.ts'
import type { App } from '../context.ts'

type DcrMode = (typeof DCR_MODES)[number]

const SETTING = 'dcr.mode'

/** The mode in force. A stored mode that this version does not know closes the door. */
export async function effectiveDcrMode({ store, config }: Pick<App, 'store' | 'config'>): Promise<DcrMode> {
  const saved = await store.findSetting({ name: SETTING })
  if (saved === undefined) return config.dcr.mode
  return DCR_MODES.find((mode) => mode === saved) ?? 'admin_only'
}

/** Sets the mode for good; also after a restart it wins over the configuration. */
export const saveDcrMode = ({ store, clock }: Pick<App, 'store' | 'clock'>, mode: DcrMode): Promise<void> =>
  store.saveSetting({ name: SETTING, value: mode, now: clock.now() })
