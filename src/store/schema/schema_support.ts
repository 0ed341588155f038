// Which versions of the service work with the tables of a database. A migration that contracts records the oldest version that does.
import { readBuild } from '../../lib/build.ts'
import { isOlderVersion } from '../../lib/version.ts'
import { all, change, maybeStr, num, type Op, raw, str } from '../op.ts'

export interface AppliedMigration {
  version: number
  name: string
  checksum: string
}
/** What a database says about its tables. */
export interface Schema {
  applied: readonly AppliedMigration[]
  /** The oldest version that works with them. Databases from before the rule do not have it. */
  oldest?: string
}

/** The migrations that make `instances`, and `schema_support` with the columns of `instances` that describe an instance. */
const [INSTANCES_FROM, SUPPORT_FROM] = [22, 70]
const has = ({ applied }: Schema, migration: number): boolean => applied.some(({ version }) => version === migration)

/** Reads which migrations a database has, and the oldest version that works with it. */
export function* readSchema(): Op<Schema> {
  const rows = yield* all`SELECT version, name, checksum FROM schema_migrations ORDER BY version`
  const applied = rows.map((row) => ({ version: num(row.version), name: str(row.name), checksum: str(row.checksum) }))
  if (!has({ applied }, SUPPORT_FROM)) return { applied }
  const [support] = yield* all`SELECT oldest FROM schema_support`
  return { applied, oldest: str(support?.oldest) }
}

/** Records that only a version and later ones work with the tables. */
export function* raiseOldest(schema: Schema, from: string): Op<void> {
  if (schema.oldest !== undefined && isOlderVersion(schema.oldest, from))
    yield* change`UPDATE schema_support SET oldest = ${from}`
}

/** The sentence that says why a version does not work with a database. Undefined when it does. */
export const unsupportedBy = (oldest: string, version = readBuild().version): string | undefined =>
  isOlderVersion(version, oldest)
    ? `the database works with version ${oldest} and later, and this is version ${version}`
    : undefined

/** An instance that runs, as errors and plans name it. */
const nameOfInstance = ({ id, version, host, address }: Record<string, unknown>): string =>
  `${maybeStr(host) ?? str(id)}${maybeStr(address) ?? ''} (${maybeStr(version) ?? 'older than 0.2.1'})`

/** The instances on PostgreSQL that were seen within the last minute and are older than a version. */
export function* olderInstances(schema: Schema, from: string): Op<string[]> {
  if (!has(schema, INSTANCES_FROM)) return []
  const columns = has(schema, SUPPORT_FROM) ? 'id, version, host, address' : 'id'
  const rows = yield* all`SELECT ${raw(columns)} FROM instances
    WHERE seen_at > (extract(epoch FROM now()) * 1000)::bigint - 60000 ORDER BY id`
  return rows.filter(({ version }) => isOlderVersion(maybeStr(version) ?? '0', from)).map(nameOfInstance)
}
