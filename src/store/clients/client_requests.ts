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
 * Stores a request, or counts it if the client waits already. At most `max` wait: the oldest goes, of the person who caused most of them if these
 * are more than `most_of_person`, so that one person does not push out the clients of other people. Returns whether it is the first one of the client.
 */
export function* requestClient({
  request: r,
  max,
  most_of_person,
}: {
  request: ClientRequest
  max: number
  most_of_person: number
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
  const beyond = num((yield* one("SELECT COUNT(*) AS n FROM client_requests WHERE status = 'waiting'"))?.n) - max
  if (beyond > 0) yield* dropOldest(beyond, most_of_person)
  return added > 0
}

function* dropOldest(count: number, most_of_person: number): Op<void> {
  const most = yield* one(
    `SELECT requested_by, COUNT(*) AS n FROM client_requests WHERE status = 'waiting'
     GROUP BY requested_by ORDER BY n DESC, requested_by LIMIT 1`,
  )
  const person = num(most?.n) > most_of_person ? str(most?.requested_by) : undefined
  const { sql, params } = where(is('status', 'waiting'), is('requested_by', person))
  yield* change(
    `DELETE FROM client_requests WHERE id IN (SELECT id FROM client_requests ${sql} ORDER BY id LIMIT ?)`,
    ...params,
    count,
  )
}

/** Records a decision. Returns whether it changed something. */
export function* decideClientRequest({ id, status }: Pick<ClientRequest, 'id' | 'status'>): Op<boolean> {
  return (
    (yield* change('UPDATE client_requests SET status = ? WHERE id = ? AND status <> ?', status, idBytes(id), status)) >
    0
  )
}
