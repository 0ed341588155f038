// Operations on the connections of users to providers (broker grants), and on connections that are being established.
import type { BrokerGrant, ConnectionEnd, ConnectState } from '../../records/broker_grant.ts'
import { change, changed, forUpdate, idBytes, idText, maybeStr, num, type Op, orNull, raw } from '../op.ts'
import { column, plainTable } from '../table.ts'
import { deletePasswordLinks } from './user_rows.ts'

const GRANTS = plainTable<BrokerGrant>('broker_grants', {
  id: column.id,
  user_id: column.text(),
  broker_provider_id: column.text(),
  credential: column.maybeText(),
  scopes_granted: column.text(),
  leased_until: column.readOnly(column.maybeInt),
  unsure_since: column.readOnly(column.maybeInt),
  ended_reason: column.readOnly(column.maybeText()),
  version: column.int,
  created_at: column.int,
  updated_at: column.int,
  revoked_at: column.readOnly(column.maybeInt),
})

type Of = Pick<BrokerGrant, 'user_id' | 'broker_provider_id'>

/** The connection in force. */
export const findBrokerGrant = ({ user_id, broker_provider_id }: Of) =>
  GRANTS.find`WHERE user_id = ${user_id} AND broker_provider_id = ${broker_provider_id} AND revoked_at IS NULL`

/** Every connection of a user, revoked ones included, oldest first. */
export const listBrokerGrants = ({ user_id }: { user_id: string }) =>
  GRANTS.list`WHERE user_id = ${user_id} ORDER BY id`

/** Connects a user, and ends the password link of the user, whose maker could use the connection. If the user was connected before, the row stays and gets the new credential. Undefined when the provider does not exist. */
export function* connectBrokerGrant(g: BrokerGrant): Op<{ id: string; version: number } | undefined> {
  if (!(yield* forUpdate`SELECT 1 AS found FROM broker_providers WHERE id = ${g.broker_provider_id}`)) return undefined
  yield* deletePasswordLinks(g.user_id)
  const row = yield* GRANTS.save(
    g,
    `ON CONFLICT (user_id, broker_provider_id) DO UPDATE SET
       credential = excluded.credential, scopes_granted = excluded.scopes_granted, updated_at = excluded.updated_at,
       version = broker_grants.version + 1, revoked_at = NULL, lease_id = NULL, leased_until = NULL, unsure_since = NULL, ended_reason = NULL
     RETURNING id, version`,
  )
  return row && { id: idText(row.id), version: num(row.version) }
}

export interface GrantLease {
  /** The connection. */
  id: string
  /** Id of the lease holder. */
  lease_id: string
}

/** Acquires the lease that allows to request a new token from the provider. False when the connection changed since it was read, or when it is leased. */
export function* leaseBrokerGrant(l: GrantLease & { version: number; now: number; until: number }): Op<boolean> {
  return yield* changed`UPDATE broker_grants SET lease_id = ${idBytes(l.lease_id)}, leased_until = ${l.until}
    WHERE id = ${idBytes(l.id)} AND version = ${l.version} AND revoked_at IS NULL
      AND (leased_until IS NULL OR leased_until <= ${l.now})`
}

/** Stores the new credential and releases the lease. False when the connection was changed or revoked in the meantime. */
export function* saveCredential(l: GrantLease & { credential: string; now: number }): Op<boolean> {
  return yield* changed`UPDATE broker_grants SET credential = ${l.credential}, updated_at = ${l.now},
      version = version + 1, lease_id = NULL, leased_until = NULL, unsure_since = NULL
    WHERE id = ${idBytes(l.id)} AND lease_id = ${idBytes(l.lease_id)} AND revoked_at IS NULL`
}

/** Releases a lease without a change. */
export function* releaseBrokerGrant({ id, lease_id }: GrantLease): Op<void> {
  yield* change`UPDATE broker_grants SET lease_id = NULL, leased_until = NULL WHERE id = ${idBytes(id)}
    AND lease_id = ${idBytes(lease_id)}`
}

/** Releases a lease after a response was lost. The version is incremented, so that a process that read the connection before must read it again. */
export function* releaseUnsure({ id, lease_id, now }: GrantLease & { now: number }): Op<void> {
  yield* change`UPDATE broker_grants SET lease_id = NULL, leased_until = NULL, version = version + 1,
      unsure_since = COALESCE(unsure_since, ${now})
    WHERE id = ${idBytes(id)} AND lease_id = ${idBytes(lease_id)}`
}

/** A connection as it was before it was revoked, with the slug of its provider. */
export type RevokedConnection = BrokerGrant & { provider: string }

/** Revokes a connection and deletes its credential. Returns the connection as it was before. With `lease_id` it does so only under that lease. */
export function* revokeBrokerGrant(w: {
  id: string
  lease_id?: string
  reason?: ConnectionEnd
  now: number
}): Op<RevokedConnection | undefined> {
  const { id, lease_id, reason, now } = w
  const row = yield* forUpdate`SELECT ${raw(GRANTS.columns)}, lease_id,
    (SELECT slug FROM broker_providers p WHERE p.id = broker_provider_id) AS provider
    FROM broker_grants WHERE id = ${idBytes(id)}`
  if (!row || (lease_id !== undefined && (row.lease_id === null || idText(row.lease_id) !== lease_id))) return undefined
  yield* change`UPDATE broker_grants SET revoked_at = ${now}, ended_reason = ${orNull(reason)}, credential = NULL,
      lease_id = NULL, leased_until = NULL, unsure_since = NULL
    WHERE id = ${idBytes(id)} AND revoked_at IS NULL`
  return { ...GRANTS.read(row), provider: maybeStr(row.provider) ?? '' }
}

/** Ends every connection of a deleted user. */
export function* forgetConnections({ user_id, now }: { user_id: string; now: number }): Op<void> {
  yield* change`DELETE FROM connect_states WHERE user_id = ${user_id}`
  yield* change`UPDATE broker_grants SET revoked_at = ${now}, credential = NULL WHERE user_id = ${user_id}
    AND revoked_at IS NULL`
}

const STATES = plainTable<ConnectState>('connect_states', {
  id: column.id,
  user_id: column.text(),
  broker_provider_id: column.text(),
  resource_id: column.text(),
  return_url: column.text(),
  scope: column.text(),
  expires_at: column.int,
})

/** Stores that a user was sent to a provider. */
export const createConnectState = (state: ConnectState) => STATES.add(state)

/** The pending connection, if it has not expired and was not used. */
export const findConnectState = ({ id, now }: { id: string; now: number }) =>
  STATES.find`WHERE id = ${idBytes(id)} AND expires_at > ${now}`

/** Consumes the pending connection. False when it was consumed before. */
export const takeConnectState = ({ id }: { id: string }) =>
  changed`DELETE FROM connect_states WHERE id = ${idBytes(id)}`
