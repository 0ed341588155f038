// The costliest kind of stored password hashes of each function, for the time that the answer to a login takes. An import raises it, and the start finds it
// in the users, so that kinds without users end.
import type { App } from '../../context.ts'
import { costOfKind, kindOfHash } from '../../crypto/password_hash.ts'

const FUNCTIONS = ['argon2id', 'bcrypt'] as const
const settingOf = (name: string) => `password_kind_${name}`
/** Costs have the same length, so that they are compared as texts. */
const COST_DIGITS = 12

/** The values of the settings: for each function its costliest kind among these hashes, after its cost. Empty if there is none. */
function valuesOf(hashes: readonly string[]) {
  const kinds = [...new Set(hashes.flatMap((hash) => kindOfHash(hash) ?? []))].map((kind) => ({
    ...costOfKind(kind),
    kind,
  }))
  return FUNCTIONS.map((name) => {
    const values = kinds
      .filter((each) => each.name === name)
      .map(({ cost, kind }) => `${String(cost).padStart(COST_DIGITS, '0')} ${kind}`)
    return { name: settingOf(name), value: values.sort().at(-1) ?? '' }
  })
}

/** Finds the kinds in the database. */
export async function findPasswordKinds({ store, clock }: Pick<App, 'store' | 'clock'>): Promise<void> {
  for (const setting of valuesOf(await store.listHashPrefixes({})))
    await store.saveSetting({ ...setting, now: clock.now() })
}

/** Records the kinds of hashes that are about to be stored. */
export async function notePasswordKinds(
  { store, clock }: Pick<App, 'store' | 'clock'>,
  hashes: readonly string[],
): Promise<void> {
  for (const setting of valuesOf(hashes))
    if (setting.value !== '') await store.raiseSetting({ ...setting, now: clock.now() })
}

/** Whether a password matches a hash. Without a hash it does not. The answer takes as long for every kind of hash that is stored. */
export async function verifyPassword({ store, crypto }: App, password: string, hash: string | undefined) {
  const values = await Promise.all(FUNCTIONS.map((name) => store.findSetting({ name: settingOf(name) })))
  return crypto.verifyPassword(
    password,
    hash,
    values.flatMap((value) => (value ? [value.slice(COST_DIGITS + 1)] : [])),
  )
}
