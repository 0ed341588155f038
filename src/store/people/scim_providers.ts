// Operations on providers as SCIM clients: whether their groups are those of SCIM, and what their calls are shown as.
import { all, change, maybeNum, maybeStr, num, type Op, one, str } from '../op.ts'

/** Whether the groups of the people of a provider are those of SCIM, and with that the groups of a person. */
export function* scimGroupsAtSignIn(provider: string, user_id: string): Op<string[] | undefined> {
  const row = yield* one`SELECT groups_since FROM scim_providers WHERE provider = ${provider}`
  if (maybeNum(row?.groups_since) === undefined) return undefined
  const rows = yield* all`SELECT g.name FROM scim_members m JOIN scim_groups g ON g.id = m.group_id
    WHERE m.user_id = ${user_id} AND g.provider = ${provider}`
  return rows.map(({ name }) => str(name)).sort()
}

/** Records the last refusal of a provider's request. */
export function* noteScimError({ provider, error, now }: { provider: string; error: string; now: number }): Op<void> {
  yield* change`INSERT INTO scim_providers (provider, last_error, last_error_at) VALUES (${provider}, ${error}, ${now})
    ON CONFLICT (provider) DO UPDATE SET last_error = excluded.last_error, last_error_at = excluded.last_error_at`
}

/** What operators see of a provider with a SCIM key. */
export interface ScimState {
  provider: string
  /** Names of its keys. */
  keys: string[]
  people: number
  groups: number
  last_call_at?: number
  last_error?: string
  last_error_at?: number
}

/** The state of every provider that has a SCIM key. */
export function* listScimStates(_: Record<never, never>): Op<ScimState[]> {
  const rows = yield* all`SELECT k.provider, MAX(k.last_used_at) AS last_call_at,
     (SELECT COUNT(*) FROM scim_users s JOIN users u ON u.id = s.user_id WHERE s.provider = k.provider) AS people,
     (SELECT COUNT(*) FROM scim_groups g WHERE g.provider = k.provider) AS groups_n,
     (SELECT p.last_error FROM scim_providers p WHERE p.provider = k.provider) AS last_error,
     (SELECT p.last_error_at FROM scim_providers p WHERE p.provider = k.provider) AS last_error_at
   FROM api_keys k WHERE k.provider IS NOT NULL GROUP BY k.provider ORDER BY k.provider`
  const keys = yield* all`SELECT provider, name FROM api_keys WHERE provider IS NOT NULL ORDER BY created_at, id`
  return rows.map((row) => ({
    provider: str(row.provider),
    keys: keys.filter(({ provider }) => provider === row.provider).map(({ name }) => str(name)),
    people: num(row.people),
    groups: num(row.groups_n),
    last_call_at: maybeNum(row.last_call_at),
    last_error: maybeStr(row.last_error),
    last_error_at: maybeNum(row.last_error_at),
  }))
}
