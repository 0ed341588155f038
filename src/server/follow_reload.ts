// Reloads the configuration when an operator asked another instance to do so: every instance reads its own file.
import type { Reloaded } from '../config/reload.ts'
import type { App } from '../context.ts'
import { newId } from '../lib/id.ts'

/** A setting of the database that changes when an operator asks every instance to reload its configuration. */
const SETTING = 'config_reload'

/**
 * Calls `reload`, which logs its own failures, from now on whenever another instance asks for it. Returns the function that reloads
 * here and then asks the others. It rejects as `reload` does, and then asks none.
 */
export async function followReloads(
  { store, clock }: Pick<App, 'store' | 'clock'>,
  reload: () => Promise<Reloaded>,
): Promise<() => Promise<Reloaded>> {
  let last = await store.findSetting({ name: SETTING })
  store.driver.onForeignWrite((about) => {
    const concerns = about === undefined || about === 'records' || (about !== 'keys' && about.some(isReload))
    if (!concerns) return
    store
      .findSetting({ name: SETTING })
      .then((now) => {
        if (now === last) return
        last = now
        return reload()
      })
      // While the database is away, nothing is known. The next change of any record is another occasion.
      .catch(() => {})
  })
  return async () => {
    const reloaded = await reload()
    // Noted before it is written: the next change of another record must not look like a request to this instance.
    last = newId()
    await store.saveSetting({ name: SETTING, value: last, now: clock.now() })
    return reloaded
  }
}

const isReload = ([read, key]: readonly [string, string | null]): boolean =>
  read === 'findSetting' && (key === SETTING || key === null)
