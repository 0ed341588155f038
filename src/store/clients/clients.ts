// Operations on clients.
import { idFloor } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import type { Client } from '../../records/client.ts'
import { RARE_MEMBERS, type RareMembers, rareMembersOf } from '../../records/rare_members.ts'
import { type Found, type ListPage, type ListSpec, listPage, type Search, searchRows } from '../list.ts'
import {
  all,
  change,
  containing,
  exists,
  forUpdate,
  idBytes,
  is,
  maybeDecoded,
  maybeIdText,
  num,
  type Op,
  one,
  orNull,
  part,
  raw,
  selectNumber,
  str,
} from '../op.ts'
import { findOnlyExchange, IS_NAMED, removeFromPolicies } from '../references.ts'
import { column, recordTable } from '../table.ts'
import { endFamilies } from '../tokens/families.ts'
import { keepDeleted, restored } from './deleted.ts'
import { deleteReceiver } from './event_receivers.ts'
import { indexSubjects, unindexSubjects } from './federated_subjects.ts'
import { readSecrets, type SecretUses, secretsText, usesText } from './stored_secrets.ts'

const CLIENTS = recordTable<Client, keyof Together>(
  'clients',
  'client_id',
  {
    client_id: column.text(),
    secrets: { read: (_, row) => readSecrets(row), write: secretsText },
    client_name: column.text(),
    redirect_uris: column.json(),
    grant_types: column.json(),
    response_types: column.json(),
    token_endpoint_auth_method: column.text(),
    application_type: { ...column.text(), read: (value) => (value ?? 'web') as Client['application_type'] },
    scope: column.text(),
    status: column.text(),
    registration_source: column.fixed(column.text()),
    is_agent: column.bool,
    agent_description: column.text(),
    dpop_bound_access_tokens: column.bool,
    version: column.int,
    issued_at: column.fixed(column.int),
    updated_at: column.int,
    last_used_at: column.readOnly(column.maybeInt),
    operator_set: column.maybeJson(),
    document: column.maybeJson(),
    default_resource: column.maybeText(),
    token_endpoint_auth_methods_supported: column.named('auth_methods', column.maybeJson()),
    jwks: column.maybeJson(),
    jwks_uri: column.maybeText(),
    federated_credentials: column.maybeJson(),
    post_logout_redirect_uris: column.maybeJson(),
    limits: column.maybeJson(),
    document_source: column.maybeText(),
    document_fetched_at: column.maybeInt,
    document_error: column.maybeText(),
  },
  { secret_uses: {}, openid: { read: maybeDecoded<Together>, write: togetherText } },
)

/** The members that share a column, which has the name of the first ones. */
type Together = Pick<Client, keyof RareMembers | 'kept_document'>
const TOGETHER: readonly string[] = [...RARE_MEMBERS, 'kept_document']

function togetherText(client: Client, others: object = {}): string | null {
  const { kept_document } = client
  const text = JSON.stringify({ ...others, ...rareMembersOf(client), kept_document })
  return text === '{}' ? null : text
}

/** The members in the shared column that this version does not know: a newer instance stored them, and they are kept. */
function* othersOf({ client_id }: Client): Op<object> {
  const row = yield* one`SELECT openid FROM clients WHERE client_id = ${client_id}`
  const stored = (row && maybeDecoded<object>(row.openid)) ?? {}
  return Object.fromEntries(Object.entries(stored).filter(([name]) => !TOGETHER.includes(name)))
}

/** The client with this id, suspended or not. */
export const findClient = ({ client_id }: { client_id: string }) => CLIENTS.find`WHERE client_id = ${client_id}`

interface Kind {
  status?: Client['status']
  source?: Client['registration_source']
}
const ofKind = ({ status, source }: Kind) => [is('status', status), is('registration_source', source)]

const LIST: ListSpec = { table: 'clients', columns: CLIENTS.columns, at: 'issued_at', id: 'client_id' }

/** The clients of one kind, ordered by age. */
export function* listClients(f: Kind & ListPage): Op<Client[]> {
  return (yield* listPage(LIST, f, ...ofKind(f))).map(CLIENTS.read)
}

/** The clients among the next rows of the list that match the filter and contain the text in their name or id. */
export function* listClientsWith(f: Kind & Search): Op<Found<Client>> {
  const text = f.q === '' ? undefined : containing(f.q, 'client_name', 'client_id')
  const { rows, next } = yield* searchRows(LIST, f, ...ofKind(f), text)
  return { rows: rows.map(CLIENTS.read), next }
}

export interface ClientUse {
  client_id: string
  /** Id of the last token. It contains the time of issue. */
  last_id?: string
  /** Tokens since the bound, counted up to `cap` + 1. */
  tokens: number
}
/** The last activity of some clients. */
export function* readClientActivity(w: { client_ids: string[]; since: string; cap: number }): Op<ClientUse[]> {
  const seen: ClientUse[] = []
  for (const client_id of w.client_ids) {
    const last = yield* one`SELECT id FROM issuances WHERE client_id = ${client_id} ORDER BY id DESC LIMIT 1`
    const count = yield* one`SELECT count(*) AS n FROM (SELECT 1 AS found FROM issuances WHERE client_id = ${client_id}
      AND id >= ${idBytes(w.since)} LIMIT ${w.cap + 1}) recent`
    seen.push({ client_id, last_id: maybeIdText(last?.id), tokens: num(count?.n) })
  }
  return seen
}

/** The active agents, in order of creation. */
export function* listAgents(): Op<Client[]> {
  return (yield* listPage(LIST, {}, is('is_agent', 1), is('status', 'active'))).map(CLIENTS.read)
}

/** The clients that exist among some ids. */
export function* listKnownClients({ client_ids }: { client_ids: string[] }): Op<string[]> {
  const known: string[] = []
  for (const client_id of client_ids) if (yield* exists`clients WHERE client_id = ${client_id}`) known.push(client_id)
  return known
}

/** Adds a client; `exists` when the id is taken. */
export function* createClient(client: Client): Op<'created' | 'exists'> {
  if ((yield* CLIENTS.create(client)) === 'exists') return 'exists'
  yield* indexSubjects(client)
  return 'created'
}

/** Writes a client that was read at `client.version`. The stored version is incremented. */
export function* updateClient(client: Client): Op<'updated' | 'stale'> {
  const openid = togetherText(client, yield* othersOf(client))
  if ((yield* CLIENTS.update(client, { openid })) === 'stale') return 'stale'
  if (client.federated_credentials) {
    yield* unindexSubjects(client.client_id)
    yield* indexSubjects(client)
  }
  return 'updated'
}

/** Stores when a client was used. The version stays the same, because this write cannot overwrite another change. */
export function* touchClient({ client_id, now }: { client_id: string; now: number }): Op<void> {
  yield* change`UPDATE clients SET last_used_at = ${now} WHERE client_id = ${client_id}`
}

/** When each secret of a client was last used, by id. Cached clients may have older times: uses are not announced to other processes. */
export function* readSecretUses({ client_id }: { client_id: string }): Op<SecretUses> {
  const row = yield* one`SELECT secret_uses FROM clients WHERE client_id = ${client_id}`
  return (row && maybeDecoded<SecretUses>(row.secret_uses)) ?? {}
}

/** Stores when a secret of a client was used, without a new version. SecretUses of secrets that the client no longer has are dropped. */
export function* touchSecret({ client_id, id, now }: { client_id: string; id: string; now: number }): Op<void> {
  const row = yield* forUpdate`SELECT secrets, secret_uses FROM clients WHERE client_id = ${client_id}`
  const held = (row && readSecrets(row)) ?? []
  const used = held.map((secret) => (secret.id === id ? { id, last_used_at: now } : secret))
  yield* change`UPDATE clients SET secret_uses = ${usesText(used)} WHERE client_id = ${client_id}`
}

/**
 * Adds a deleted client again, with the hashes of its secrets. What its deletion ended stays ended, also what was allowed and not redeemed before.
 * Undefined when another restore came first.
 */
export function* restoreClient(w: {
  deleted_id: string
  client: Client
  now: number
}): Op<'created' | 'exists' | undefined> {
  const { deleted_id, client, now } = w
  const outcome = yield* restored(deleted_id, () => createClient(client))
  if (outcome !== 'created') return outcome
  const { client_id, last_used_at, secrets = [] } = client
  yield* change`UPDATE clients SET last_used_at = ${orNull(last_used_at)}, secret_uses = ${usesText(secrets)}
    WHERE client_id = ${client_id}`
  const recent = idBytes(idFloor(now - DAY))
  for (const waiting of ['device_requests WHERE', 'authorization_requests WHERE consumed_at IS NULL AND'])
    yield* change`DELETE FROM ${raw(waiting)} id >= ${recent} AND client_id = ${client_id}`
  return outcome
}

/**
 * Deletes a client, its consents, families and streams, and removes it from the policies of resources. It is kept for a restore. A client with live tokens is deleted
 * only when forced. No live token is older than `oldest`. `only_at` is the resource that allows exchanges to this client only: without the
 * client its list would be empty, and an empty list allows other clients.
 */
export function* deleteClient(w: {
  client_id: string
  force: boolean
  now: number
  oldest: string
  by: string
}): Op<'deleted' | 'has_tokens' | { only_at: string } | undefined> {
  const { client_id, force, now, oldest, by } = w
  const client = yield* findClient({ client_id })
  if (!client) return undefined
  const live = part`client_id = ${client_id} AND id >= ${idBytes(oldest)} AND expires_at > ${now}
    AND revoked_at IS NULL AND broker_provider IS NULL`
  const token = yield* exists`issuances WHERE ${live}`
  const family = yield* exists`token_families WHERE client_id = ${client_id} AND revoked_at IS NULL`
  const only_at = yield* findOnlyExchange(client_id)
  if (only_at !== undefined) return { only_at }
  if ((token || family) && !force) return 'has_tokens'
  yield* change`UPDATE issuances SET revoked_at = ${now} WHERE ${live}`
  yield* endFamilies('client_id', client_id, 'client_deleted', now)
  yield* change`UPDATE consent_grants SET revoked_at = ${now} WHERE client_id = ${client_id} AND revoked_at IS NULL`
  yield* unindexSubjects(client_id)
  const named = yield* removeFromPolicies(client_id, now)
  const streams = yield* all`SELECT id FROM event_receivers WHERE client_id = ${client_id}`
  const lost = [...named.map((slug) => `policy of ${slug}`), ...streams.map(({ id }) => `stream ${str(id)}`)]
  yield* keepDeleted('client', client, {
    name: client_id,
    label: client.client_name,
    deleted_at: now,
    deleted_by: by,
    lost,
  })
  for (const { id } of streams) yield* deleteReceiver({ id: str(id) })
  // A document client that was denied stays so when it asks again.
  yield* change`DELETE FROM client_requests WHERE client_id = ${client_id} AND status <> 'denied'`
  yield* change`DELETE FROM client_failures WHERE client_id = ${client_id}`
  yield* change`DELETE FROM clients WHERE client_id = ${client_id}`
  return 'deleted'
}

/**
 * Deletes clients that registered themselves before `before` and never received a token. The client of a document that an
 * operator changed stays; otherwise it would return without that change. A client that an operator has named in a policy or a stream
 * stays too. Returns the number of deleted clients, at most `limit`.
 */
export function* reapClients({ before, limit }: { before: number; limit: number }): Op<number> {
  return yield* change`DELETE FROM clients WHERE client_id IN (SELECT client_id FROM clients
    WHERE issued_at <= ${before} AND registration_source IN ('dcr', 'cimd') AND last_used_at IS NULL
      AND (registration_source = 'dcr' OR (status = 'active' AND operator_set IS NULL))
      AND NOT ${raw(IS_NAMED)} ORDER BY issued_at, client_id LIMIT ${limit})`
}

/** The number of clients that are not suspended. */
export const countActiveClients = () => selectNumber`SELECT count(*) AS n FROM clients WHERE status = 'active'`
