// Operations on clients that wait for the approval of an operator.
import type { ClientRequest } from '../../records/client.ts'
import {
  change,
  changed,
  idBytes,
  is,
  num,
  type Op,
  one,
  oneAtATime,
  orNull,
  part,
  selectNumber,
  str,
  where,
} from '../op.ts'
import { column, plainTable } from '../table.ts'

const REQUESTS = plainTable<ClientRequest>('client_requests', {
  id: column.id,
  client_id: column.text(),
  client_name: column.text(),
  redirect_hosts: column.json(),
  resource: column.maybeText(),
  requested_by: column.text(),
  count: column.named('requests', column.int),
  status: column.text(),
  first_at: column.int,
  last_at: column.int,
})

/** What a client has asked for, by its client_id. */
export const findClientRequest = ({ client_id }: { client_id: string }) => REQUESTS.find`WHERE client_id = ${client_id}`

/** A request by its id. */
export const readClientRequest = ({ id }: { id: string }) => REQUESTS.find`WHERE id = ${idBytes(id)}`

/** The requests, newest first. */
export function* listClientRequests(w: {
  status?: ClientRequest['status']
  limit: number
  offset?: number
}): Op<ClientRequest[]> {
  const { status, limit, offset = 0 } = w
  return yield* REQUESTS.list`${where(is('status', status))} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`
}

/**
 * Stores a request, or counts it if the client waits already. At most `max` wait: the oldest goes, of the person who caused most of them if these
 * are more than `most_of_person`, so that one person does not push out the clients of other people. Returns whether it is the first one of the client.
 */
export function* requestClient(w: { request: ClientRequest; max: number; most_of_person: number }): Op<boolean> {
  const { request: r, max, most_of_person } = w
  const counted = yield* change`UPDATE client_requests SET requests = requests + 1, client_name = ${r.client_name},
    redirect_hosts = ${JSON.stringify(r.redirect_hosts)}, resource = ${orNull(r.resource)}, last_at = ${r.last_at}
    WHERE client_id = ${r.client_id} AND status = 'waiting'`
  if (counted > 0) return false
  yield* oneAtATime('client_requests')
  const added = yield* REQUESTS.create(r)
  const beyond = (yield* selectNumber`SELECT COUNT(*) AS n FROM client_requests WHERE status = 'waiting'`) - max
  if (beyond > 0) yield* dropOldest(beyond, most_of_person)
  return added === 'created'
}

function* dropOldest(count: number, most_of_person: number): Op<void> {
  const most = yield* one`SELECT requested_by, COUNT(*) AS n FROM client_requests WHERE status = 'waiting'
   GROUP BY requested_by ORDER BY n DESC, requested_by LIMIT 1`
  const person = num(most?.n) > most_of_person ? str(most?.requested_by) : undefined
  const oldest = part`${where(is('status', 'waiting'), is('requested_by', person))} ORDER BY id LIMIT ${count}`
  yield* change`DELETE FROM client_requests WHERE id IN (SELECT id FROM client_requests ${oldest})`
}

/** Records a decision. Returns whether it changed something. */
export const decideClientRequest = ({ id, status }: Pick<ClientRequest, 'id' | 'status'>) =>
  changed`UPDATE client_requests SET status = ${status} WHERE id = ${idBytes(id)} AND status <> ${status}`
