// `service migrate`: shows what is pending, or applies it.
import type { Config } from '../config/schema.ts'
import { systemClock } from '../lib/time.ts'
import { contract, migrate, planMigrations } from '../store/open.ts'
import { UsageError } from './output.ts'

/** Runs the command. Resolves to what it prints. Rejects with UsageError for flags that do not go together. */
export async function migrateWith(
  flags: { contract?: boolean; force?: boolean; plan?: boolean },
  storage: Config['storage'],
): Promise<unknown> {
  if (flags.force && !flags.contract) throw new UsageError('--force needs --contract')
  if (flags.plan && flags.contract) throw new UsageError('--plan shows both kinds: leave out --contract')
  if (flags.plan) {
    const plan = await planMigrations(storage)
    if (plan.length === 0) process.stderr.write('no migration is pending\n')
    return plan
  }
  const now = systemClock.now()
  const applied = await (flags.contract ? contract(storage, now, flags.force === true) : migrate(storage, now))
  const left = await planMigrations(storage)
  return { applied, ...(left.length > 0 ? { contracting: left.map(({ migration }) => migration) } : {}) }
}
