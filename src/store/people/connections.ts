// Operations on the connections of users to providers (broker grants), and on connections that are being established.
import type { BrokerGrant, ConnectionEnd, ConnectState } from '../../records/broker_grant.ts'
import {
  all,
  change,
  forUpdate,
  idBytes,
  idText,
  maybeNum,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Row,
  str,
} from '../op.ts'
import { deletePasswordLinks } from './user_rows.ts'

const COLUMNS =
  'id, user_id, broker_provider_id, credential, scopes_granted, leased_until, unsure_since, ended_reason, version, created_at, updated_at, revoked_at'

const read = (row: Row): BrokerGrant => ({
  id: idText(row.id),
  user_id: str(row.user_id),
  broker_provider_id: str(row.broker_provider_id),
  credential: maybeStr(row.credential),
  scopes_granted: str(row.scopes_granted),
  leased_until: maybeNum(row.leased_until),
  unsure_since: maybeNum(row.unsure_since),
  ended_reason: maybeStr(row.ended_reason) as ConnectionEnd | undefined,
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
  revoked_at: maybeNum(row.revoked_at),
})

type Of = Pick<BrokerGrant, 'user_id' | 'broker_provider_id'>

/** The connection in force. */
export function* findBrokerGrant({ user_id, broker_provider_id }: Of): Op<BrokerGrant | undefined> {
  const row = yield* one(
    `SELECT ${COLUMNS} FROM broker_grants WHERE user_id = ? AND broker_provider_id = ? AND revoked_at IS NULL`,
    user_id,
    broker_provider_id,
  )
  return row && read(row)
}

/** Every connection of a user, revoked ones included, oldest first. */
export function* listBrokerGrants({ user_id }: { user_id: string }): Op<BrokerGrant[]> {
  return (yield* all(`SELECT ${COLUMNS} FROM broker_grants WHERE user_id = ? ORDER BY id`, user_id)).map(read)
}

/** Connects a user, and ends the password link of the user, whose maker could use the connection. If the user was connected before, the row stays and gets the new credential. Undefined when the provider does not exist. */
export function* connectBrokerGrant(g: BrokerGrant): Op<{ id: string; version: number } | undefined> {
  if (!(yield* forUpdate('SELECT 1 AS found FROM broker_providers WHERE id = ?', g.broker_provider_id)))
    return undefined
  yield* deletePasswordLinks(g.user_id)
  const row = yield* one(
    `INSERT INTO broker_grants (id, user_id, broker_provider_id, credential, scopes_granted, version, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, broker_provider_id) DO UPDATE SET
       credential = excluded.credential, scopes_granted = excluded.scopes_granted, updated_at = excluded.updated_at,
       version = broker_grants.version + 1, revoked_at = NULL, lease_id = NULL, leased_until = NULL, unsure_since = NULL, ended_reason = NULL
     RETURNING id, version`,
    idBytes(g.id),
    g.user_id,
    g.broker_provider_id,
    orNull(g.credential),
    g.scopes_granted,
    g.version,
    g.created_at,
    g.updated_at,
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
  const taken = yield* change(
    `UPDATE broker_grants SET lease_id = ?, leased_until = ?
     WHERE id = ? AND version = ? AND revoked_at IS NULL AND (leased_until IS NULL OR leased_until <= ?)`,
    idBytes(l.lease_id),
    l.until,
    idBytes(l.id),
    l.version,
    l.now,
  )
  return taken === 1
}

/** Stores the new credential and releases the lease. False when the connection was changed or revoked in the meantime. */
export function* saveCredential(l: GrantLease & { credential: string; now: number }): Op<boolean> {
  const saved = yield* change(
    `UPDATE broker_grants SET credential = ?, updated_at = ?, version = version + 1, lease_id = NULL, leased_until = NULL, unsure_since = NULL
     WHERE id = ? AND lease_id = ? AND revoked_at IS NULL`,
    l.credential,
    l.now,
    idBytes(l.id),
    idBytes(l.lease_id),
  )
  return saved === 1
}

/** Releases a lease without a change. */
export function* releaseBrokerGrant({ id, lease_id }: GrantLease): Op<void> {
  yield* change(
    'UPDATE broker_grants SET lease_id = NULL, leased_until = NULL WHERE id = ? AND lease_id = ?',
    idBytes(id),
    idBytes(lease_id),
  )
}

/** Releases a lease after a response was lost. The version is incremented, so that a process that read the connection before must read it again. */
export function* releaseUnsure({ id, lease_id, now }: GrantLease & { now: number }): Op<void> {
  yield* change(
    `UPDATE broker_grants SET lease_id = NULL, leased_until = NULL, unsure_since = COALESCE(unsure_since, ?), version = version + 1
     WHERE id = ? AND lease_id = ?`,
    now,
    idBytes(id),
    idBytes(lease_id),
  )
}

/** A connection as it was before it was revoked, with the slug of its provider. */
export type RevokedConnection = BrokerGrant & { provider: string }

/** Revokes a connection and deletes its credential. Returns the connection as it was before. With `lease_id` it does so only under that lease. */
export function* revokeBrokerGrant({
  id,
  lease_id,
  reason,
  now,
}: {
  id: string
  lease_id?: string
  reason?: ConnectionEnd
  now: number
}): Op<RevokedConnection | undefined> {
  const row = yield* forUpdate(
    `SELECT ${COLUMNS}, lease_id, (SELECT slug FROM broker_providers p WHERE p.id = broker_provider_id) AS provider
     FROM broker_grants WHERE id = ?`,
    idBytes(id),
  )
  if (!row || (lease_id !== undefined && (row.lease_id === null || idText(row.lease_id) !== lease_id))) return undefined
  yield* change(
    `UPDATE broker_grants SET revoked_at = ?, ended_reason = ?, credential = NULL, lease_id = NULL, leased_until = NULL, unsure_since = NULL
     WHERE id = ? AND revoked_at IS NULL`,
    now,
    orNull(reason),
    idBytes(id),
  )
  return { ...read(row), provider: maybeStr(row.provider) ?? '' }
}

/** Ends every connection of a deleted user. */
export function* forgetConnections({ user_id, now }: { user_id: string; now: number }): Op<void> {
  yield* change('DELETE FROM connect_states WHERE user_id = ?', user_id)
  yield* change(
    'UPDATE broker_grants SET revoked_at = ?, credential = NULL WHERE user_id = ? AND revoked_at IS NULL',
    now,
    user_id,
  )
}

const STATE = 'id, user_id, broker_provider_id, resource_id, return_url, scope, expires_at'
const readState = (row: Row): ConnectState => ({
  id: idText(row.id),
  user_id: str(row.user_id),
  broker_provider_id: str(row.broker_provider_id),
  resource_id: str(row.resource_id),
  return_url: str(row.return_url),
  scope: str(row.scope),
  expires_at: num(row.expires_at),
})

/** Stores that a user was sent to a provider. */
export function* createConnectState(s: ConnectState): Op<void> {
  yield* change(
    `INSERT INTO connect_states (${STATE}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    idBytes(s.id),
    s.user_id,
    s.broker_provider_id,
    s.resource_id,
    s.return_url,
    s.scope,
    s.expires_at,
  )
}

/** The pending connection, if it has not expired and was not used. */
export function* findConnectState({ id, now }: { id: string; now: number }): Op<ConnectState | undefined> {
  const row = yield* one(`SELECT ${STATE} FROM connect_states WHERE id = ? AND expires_at > ?`, idBytes(id), now)
  return row && readState(row)
}

/** Consumes the pending connection. False when it was consumed before. */
export function* takeConnectState({ id }: { id: string }): Op<boolean> {
  return (yield* change('DELETE FROM connect_states WHERE id = ?', idBytes(id))) === 1
}
