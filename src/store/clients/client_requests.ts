// Operations on clients that wait for the approval of an operator.
import type { ClientRequest } from '../../records/client.ts'
import {
  all,
  change,
  decoded,
  idBytes,
  idText,
  is,
  maybeStr,
  num,
  type Op,
  one,
  oneAtATime,
  orNull,
  type Row,
  str,
  where,
} from '../op.ts'

const COLUMNS =
  'id, client_id, client_name, redirect_hosts, resource, requested_by, requests, status, first_at, last_at'
const read = (row: Row): ClientRequest => ({
  id: idText(row.id),
  client_id: str(row.client_id),
  client_name: str(row.client_name),
  redirect_hosts: decoded(row.redirect_hosts),
  resource: maybeStr(row.resource),
  requested_by: str(row.requested_by),
  count: num(row.requests),
  status: str(row.status) as ClientRequest['status'],
  first_at: num(row.first_at),
  last_at: num(row.last_at),
})

/** What a client has asked for, by its client_id. */
export function* findClientRequest({ client_id }: { client_id: string }): Op<ClientRequest | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM client_requests WHERE client_id = ?`, client_id)
  return row && read(row)
}

/** A request by its id. */
export function* readClientRequest({ id }: { id: string }): Op<ClientRequest | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM client_requests WHERE id = ?`, idBytes(id))
  return row && read(row)
}

/** The requests, newest first. */
export function* listClientRequests({
  status,
  limit,
  offset = 0,
}: {
  status?: ClientRequest['status']
  limit: number
  offset?: number
}): Op<ClientRequest[]> {
  const { sql, params } = where(is('status', status))
  const rows = yield* all(
    `SELECT ${COLUMNS} FROM client_requests ${sql} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...params,
    limit,
    offset,
  )
  return rows.map(read)
}

/**
 * Stores a request, or counts it if the client waits already. At most `max` wait, and at most `max_of_person` of the clients that one person asked
 * for first: the oldest goes. Returns whether it is the first one of the client.
 */
export function* requestClient({
  request: r,
  max,
  max_of_person,
}: {
  request: ClientRequest
  max: number
  max_of_person: number
}): Op<boolean> {
  const counted = yield* change(
    "UPDATE client_requests SET requests = requests + 1, client_name = ?, redirect_hosts = ?, resource = ?, last_at = ? WHERE client_id = ? AND status = 'waiting'",
    r.client_name,
    JSON.stringify(r.redirect_hosts),
    orNull(r.resource),
    r.last_at,
    r.client_id,
  )
  if (counted > 0) return false
  yield* oneAtATime('client_requests')
  const added = yield* change(
    `INSERT INTO client_requests (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    idBytes(r.id),
    r.client_id,
    r.client_name,
    JSON.stringify(r.redirect_hosts),
    orNull(r.resource),
    r.requested_by,
    r.count,
    r.status,
    r.first_at,
    r.last_at,
  )
  yield* dropOldest("status = 'waiting' AND requested_by = ?", [r.requested_by], max_of_person)
  yield* dropOldest("status = 'waiting'", [], max)
  return added > 0
}

function* dropOldest(which: string, params: readonly string[], max: number): Op<void> {
  const [beyond] = yield* all(
    `SELECT id FROM client_requests WHERE ${which} ORDER BY id DESC LIMIT 1 OFFSET ?`,
    ...params,
    max,
  )
  if (!beyond) return
  yield* change(`DELETE FROM client_requests WHERE ${which} AND id <= ?`, ...params, idBytes(idText(beyond.id)))
}

/** Records a decision. Returns whether it changed something. */
export function* decideClientRequest({ id, status }: Pick<ClientRequest, 'id' | 'status'>): Op<boolean> {
  return (
    (yield* change('UPDATE client_requests SET status = ? WHERE id = ? AND status <> ?', status, idBytes(id), status)) >
    0
  )
}
