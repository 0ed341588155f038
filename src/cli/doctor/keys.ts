// Checks that the signing keys exist where the configuration says, and that other users cannot read them.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { type Finding, fail, ok } from '../../admin/finding.ts'
import type { Config } from '../../config/schema.ts'
import { firstKeyRules } from '../../crypto/first_key.ts'
import { systemClock } from '../../lib/time.ts'
import { hasDatabase } from '../../store/open.ts'
import { withStore } from '../../store/work.ts'
import { secrecy } from './machine.ts'

const CHECK = 'signing keys'

/** Checks the key folder. When it has no key, the database determines whether a start would create one. */
export async function checkKeys(config: Config, canAsk: boolean): Promise<Finding[]> {
  if (config.signing.key_store !== 'keyfile') return []
  const folder = path.resolve(config.signing.key_path)
  const found = secrecy(CHECK, folder, ok(CHECK, `${folder} is created at the first start`))
  if (found.result === 'fail' || !canAsk || hasKeys(folder) || !(await hasDatabase(config.storage))) return [found]
  const rules = { creates: true, newKeys: false }
  try {
    await withStore(config, (store) => firstKeyRules(config, { store, clock: systemClock }, rules).mayMakeFirst())
    return [found]
  } catch (error) {
    return [fail(CHECK, (error as Error).message, 'see signing.key_path; restore the keys from a backup')]
  }
}

const hasKeys = (folder: string): boolean =>
  existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.pem'))
