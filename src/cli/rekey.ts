// `service rekey`: run it after the key of data_encryption was replaced. Instances may run.

import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import { type Rekeyed, rekey } from '../crypto/rekey.ts'
import { withStore } from '../store/work.ts'

/** Encrypts again every value that an older key encrypted. Calls `onProgress` after every batch. Returns a row for each column. Rejects when encryption is off. */
export async function rekeyAll(
  file: string | undefined,
  env: Env,
  onProgress: (done: Rekeyed) => void,
): Promise<Rekeyed[]> {
  const { config } = loadConfig(file, env)
  const atRest = await openAtRest(config, env)
  if (!atRest) throw new Error('data_encryption.driver is not set: no value is encrypted')
  return withStore(config, async (store) => {
    const columns = new Map<string, Rekeyed>()
    for await (const done of rekey(store, atRest)) {
      columns.set(`${done.table}.${done.column}`, done)
      onProgress(done)
    }
    return [...columns.values()]
  })
}
