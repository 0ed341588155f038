// Operations on the applications that have access to the account of a user.
import type { Application } from '../../records/application.ts'
import { USERINFO_CONSENT } from '../../records/consent.ts'
import { all, change, decoded, maybeIdText, maybeStr, num, type Op, type Row, str } from '../op.ts'
import { endFamilies } from '../tokens/families.ts'
import { findConsent, revokeConsent } from './consents.ts'

/** Maximum number of the newest tokens of a user that are read to find the last use of the applications. */
const RECENT = 1000

/** The applications that a user allowed and did not remove: each client with each resource, by name. */
export function* listApplications({ user_id }: { user_id: string }): Op<Application[]> {
  const consents = yield* all`SELECT g.id, g.client_id, g.resource_id, g.scope, g.created_at,
      c.client_name, r.uri, r.display_name, r.scopes
    FROM consent_grants g JOIN clients c ON c.client_id = g.client_id LEFT JOIN resources r ON r.id = g.resource_id
    WHERE g.user_id = ${user_id} AND g.revoked_at IS NULL AND (r.id IS NOT NULL OR g.resource_id = ${USERINFO_CONSENT})`
  const unnamed = yield* all`SELECT f.client_id, f.scope, f.created_at, c.client_name
    FROM token_families f JOIN clients c ON c.client_id = f.client_id
    WHERE f.user_id = ${user_id} AND f.consent_id IS NULL AND f.revoked_at IS NULL ORDER BY f.id DESC`
  const lastUse = yield* lastUses(user_id)
  return [...consents, ...merged(unnamed)]
    .map((row) => ({
      client_id: str(row.client_id),
      client_name: str(row.client_name),
      resource_id: maybeStr(row.resource_id),
      resource: readResource(row),
      scope: str(row.scope),
      created_at: num(row.created_at),
      ...lastUse(row),
    }))
    .sort((a, b) => a.client_name.localeCompare(b.client_name) || a.created_at - b.created_at)
}

const readResource = (row: Row): Application['resource'] =>
  maybeStr(row.display_name) === undefined
    ? undefined
    : {
        id: str(row.resource_id),
        uri: maybeStr(row.uri),
        display_name: str(row.display_name),
        scopes: decoded(row.scopes),
      }

/** One row for each client, with the scope of its newest sign-in and the time of its oldest one. The input is ordered newest first. */
function merged(families: readonly Row[]): Row[] {
  const byClient = new Map<string, Row>()
  for (const row of families) {
    const newest = byClient.get(str(row.client_id))
    byClient.set(str(row.client_id), newest ? { ...newest, created_at: row.created_at } : row)
  }
  return [...byClient.values()]
}

const useKey = (row: Row, consent_id: unknown) => `${str(row.client_id)} ${maybeIdText(consent_id) ?? ''}`

function* lastUses(user_id: string): Op<(row: Row) => Pick<Application, 'last_used_at' | 'unused_since'>> {
  const rows = yield* all`SELECT client_id, consent_id, issued_at FROM issuances WHERE sub = ${user_id}
    ORDER BY id DESC LIMIT ${RECENT}`
  const uses = new Map(rows.reverse().map((row) => [useKey(row, row.consent_id), num(row.issued_at)]))
  const unused_since = rows.length === RECENT && rows[0] ? num(rows[0].issued_at) : undefined
  return (row) => {
    const last_used_at = uses.get(useKey(row, row.id ?? null))
    return last_used_at === undefined ? { unused_since } : { last_used_at }
  }
}

export interface EndedApplication {
  consent_id?: string
  families: number
}
/** Ends the access of a client: its consent for a resource, or its sign-ins without a resource, and all their tokens. Undefined when the client has no access. */
export function* endApplication(w: {
  user_id: string
  client_id: string
  resource_id?: string
  now: number
}): Op<EndedApplication | undefined> {
  const { user_id, client_id, resource_id, now } = w
  if (resource_id !== undefined) {
    const consent = yield* findConsent({ user_id, client_id, resource_id })
    const ended = consent && (yield* revokeConsent({ id: consent.id, now }))
    return ended && { consent_id: ended.consent.id, families: ended.families }
  }
  // Codes first: a code that is redeemed at the same time has its family when this statement returns.
  yield* change`DELETE FROM authorization_requests WHERE user_id = ${user_id} AND client_id = ${client_id}
    AND consent_id IS NULL AND code_hash IS NOT NULL AND consumed_at IS NULL`
  const rows = yield* all`SELECT id FROM token_families WHERE user_id = ${user_id} AND client_id = ${client_id}
    AND consent_id IS NULL AND revoked_at IS NULL`
  let families = 0
  for (const { id } of rows) families += yield* endFamilies('id', id as Buffer, 'consent_revoked', now)
  return families > 0 ? { families } : undefined
}
