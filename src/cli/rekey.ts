// `service rekey`: after the key of data_encryption was replaced, beside running instances or without one.

import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import { type Rekeyed, rekey } from '../crypto/rekey.ts'
import { withStore } from '../store/work.ts'

/** Seals everything again that an older key has sealed; `onProgress` hears of every batch. Returns what was done, a row for each column. Rejects when encryption is off. */
export async function rekeyAll(
  file: string | undefined,
  env: Env,
  onProgress: (done: Rekeyed) => void,
): Promise<Rekeyed[]> {
  const { config } = loadConfig(file, env)
  const atRest = await openAtRest(config, env)
  if (!atRest) throw new Error('data_encryption.driver is not set: nothing is sealed')
  return withStore(config, async (store) => {
    const columns = new Map<string, Rekeyed>()
    for await (const done of rekey(store, atRest)) {
      columns.set(`${done.table}.${done.column}`, done)
      onProgress(done)
    }
    return [...columns.values()]
  })
}
