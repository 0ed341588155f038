// Operations on clients.
import type { Client } from '../../records/client.ts'
import { type RareMembers, rareMembersOf } from '../../records/rare_members.ts'
import { type Found, type ListPage, type ListSpec, listPage, type Search, searchRows } from '../list.ts'
import {
  all,
  change,
  containing,
  decoded,
  flag,
  forUpdate,
  idBytes,
  is,
  maybeDecoded,
  maybeEncoded,
  maybeIdText,
  maybeNum,
  maybeStr,
  num,
  type Op,
  one,
  orNull,
  type Row,
  str,
} from '../op.ts'
import { findOnlyExchange, IS_NAMED, removeFromPolicies } from '../references.ts'
import { endFamilies } from '../tokens/families.ts'
import { deleteReceiver } from './event_receivers.ts'
import { indexSubjects, unindexSubjects } from './federated_subjects.ts'
import { readSecrets, type SecretUses, secretsText } from './stored_secrets.ts'

const COLUMNS = `client_id, secrets, secret_uses, client_name, redirect_uris, grant_types, response_types, token_endpoint_auth_method,
  application_type, scope, status, registration_source, is_agent, agent_description, dpop_bound_access_tokens, version, issued_at, updated_at, last_used_at,
  operator_set, document, default_resource, auth_methods, jwks, jwks_uri, federated_credentials, post_logout_redirect_uris, limits, openid,
  document_source, document_fetched_at, document_error`

const read = (row: Row): Client => ({
  client_id: str(row.client_id),
  secrets: readSecrets(row),
  client_name: str(row.client_name),
  redirect_uris: decoded(row.redirect_uris),
  grant_types: decoded(row.grant_types),
  response_types: decoded(row.response_types),
  token_endpoint_auth_method: row.token_endpoint_auth_method as Client['token_endpoint_auth_method'],
  application_type: (row.application_type ?? 'web') as Client['application_type'],
  scope: str(row.scope),
  status: row.status as Client['status'],
  registration_source: row.registration_source as Client['registration_source'],
  is_agent: flag(row.is_agent),
  agent_description: str(row.agent_description),
  dpop_bound_access_tokens: flag(row.dpop_bound_access_tokens),
  version: num(row.version),
  issued_at: num(row.issued_at),
  updated_at: num(row.updated_at),
  last_used_at: maybeNum(row.last_used_at),
  operator_set: maybeDecoded(row.operator_set),
  document: maybeDecoded(row.document),
  default_resource: maybeStr(row.default_resource),
  token_endpoint_auth_methods_supported: maybeDecoded(row.auth_methods),
  jwks: maybeDecoded(row.jwks),
  jwks_uri: maybeStr(row.jwks_uri),
  federated_credentials: maybeDecoded(row.federated_credentials),
  post_logout_redirect_uris: maybeDecoded(row.post_logout_redirect_uris),
  limits: maybeDecoded(row.limits),
  document_source: maybeStr(row.document_source) as Client['document_source'],
  document_fetched_at: maybeNum(row.document_fetched_at),
  document_error: maybeStr(row.document_error),
  ...maybeDecoded<RareMembers>(row.openid),
})

function openIdText(client: Client): string | null {
  const text = JSON.stringify(rareMembersOf(client))
  return text === '{}' ? null : text
}

const mutable = (c: Client) => [
  secretsText(c.secrets),
  c.client_name,
  JSON.stringify(c.redirect_uris),
  JSON.stringify(c.grant_types),
  JSON.stringify(c.response_types),
  c.token_endpoint_auth_method,
  c.application_type,
  c.scope,
  c.status,
  Number(c.is_agent),
  c.agent_description,
  Number(c.dpop_bound_access_tokens),
  maybeEncoded(c.operator_set),
  maybeEncoded(c.document),
  orNull(c.default_resource),
  maybeEncoded(c.token_endpoint_auth_methods_supported),
  maybeEncoded(c.jwks),
  orNull(c.jwks_uri),
  maybeEncoded(c.federated_credentials),
  maybeEncoded(c.post_logout_redirect_uris),
  maybeEncoded(c.limits),
  openIdText(c),
  orNull(c.document_source),
  orNull(c.document_fetched_at),
  orNull(c.document_error),
  c.updated_at,
]

/** The client with this id, suspended or not. */
export function* findClient({ client_id }: { client_id: string }): Op<Client | undefined> {
  const row = yield* one(`SELECT ${COLUMNS} FROM clients WHERE client_id = ?`, client_id)
  return row && read(row)
}

interface Kind {
  status?: Client['status']
  source?: Client['registration_source']
}
const ofKind = ({ status, source }: Kind) => [is('status', status), is('registration_source', source)]

const LIST: ListSpec = { table: 'clients', columns: COLUMNS, at: 'issued_at', id: 'client_id' }

/** The clients of one kind, ordered by age. */
export function* listClients(f: Kind & ListPage): Op<Client[]> {
  return (yield* listPage(LIST, f, ...ofKind(f))).map(read)
}

/** The clients among the next rows of the list that match the filter and contain the text in their name or id. */
export function* listClientsWith(f: Kind & Search): Op<Found<Client>> {
  const text = f.q === '' ? undefined : containing(f.q, 'client_name', 'client_id')
  const { rows, next } = yield* searchRows(LIST, f, ...ofKind(f), text)
  return { rows: rows.map(read), next }
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
    const last = yield* one('SELECT id FROM issuances WHERE client_id = ? ORDER BY id DESC LIMIT 1', client_id)
    const count = yield* one(
      'SELECT count(*) AS n FROM (SELECT 1 AS found FROM issuances WHERE client_id = ? AND id >= ? LIMIT ?) recent',
      client_id,
      idBytes(w.since),
      w.cap + 1,
    )
    seen.push({ client_id, last_id: maybeIdText(last?.id), tokens: num(count?.n) })
  }
  return seen
}

/** The active agents, in order of creation. */
export function* listAgents(): Op<Client[]> {
  return (yield* listPage(LIST, {}, is('is_agent', 1), is('status', 'active'))).map(read)
}

/** The clients that exist among some ids. */
export function* listKnownClients({ client_ids }: { client_ids: string[] }): Op<string[]> {
  const known: string[] = []
  for (const client_id of client_ids)
    if (yield* one('SELECT 1 AS found FROM clients WHERE client_id = ?', client_id)) known.push(client_id)
  return known
}

/** Adds a client; `exists` when the id is taken. */
export function* createClient(client: Client): Op<'created' | 'exists'> {
  const added = yield* change(
    `INSERT INTO clients (secrets, client_name, redirect_uris, grant_types, response_types, token_endpoint_auth_method, application_type, scope, status,
       is_agent, agent_description, dpop_bound_access_tokens, operator_set, document, default_resource,
       auth_methods, jwks, jwks_uri, federated_credentials, post_logout_redirect_uris, limits, openid,
       document_source, document_fetched_at, document_error, updated_at, client_id, registration_source, version, issued_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (client_id) DO NOTHING`,
    ...mutable(client),
    client.client_id,
    client.registration_source,
    client.version,
    client.issued_at,
  )
  if (added === 0) return 'exists'
  yield* indexSubjects(client)
  return 'created'
}

/** Writes a client that was read at `client.version`. The stored version is incremented. */
export function* updateClient(client: Client): Op<'updated' | 'stale'> {
  const changed = yield* change(
    `UPDATE clients SET secrets = ?, client_name = ?, redirect_uris = ?, grant_types = ?, response_types = ?, token_endpoint_auth_method = ?,
       application_type = ?, scope = ?, status = ?, is_agent = ?, agent_description = ?, dpop_bound_access_tokens = ?, operator_set = ?, document = ?, default_resource = ?,
       auth_methods = ?, jwks = ?, jwks_uri = ?, federated_credentials = ?, post_logout_redirect_uris = ?, limits = ?, openid = ?,
       document_source = ?, document_fetched_at = ?, document_error = ?, updated_at = ?, version = version + 1
     WHERE client_id = ? AND version = ?`,
    ...mutable(client),
    client.client_id,
    client.version,
  )
  if (changed === 0) return 'stale'
  if (client.federated_credentials) {
    yield* unindexSubjects(client.client_id)
    yield* indexSubjects(client)
  }
  return 'updated'
}

/** Stores when a client was used. The version stays the same, because this write cannot overwrite another change. */
export function* touchClient({ client_id, now }: { client_id: string; now: number }): Op<void> {
  yield* change('UPDATE clients SET last_used_at = ? WHERE client_id = ?', now, client_id)
}

/** When each secret of a client was last used, by id. Cached clients may have older times: uses are not announced to other processes. */
export function* readSecretUses({ client_id }: { client_id: string }): Op<SecretUses> {
  const row = yield* one('SELECT secret_uses FROM clients WHERE client_id = ?', client_id)
  return (row && maybeDecoded<SecretUses>(row.secret_uses)) ?? {}
}

/** Stores when a secret of a client was used, without a new version. SecretUses of secrets that the client no longer has are dropped. */
export function* touchSecret({ client_id, id, now }: { client_id: string; id: string; now: number }): Op<void> {
  const row = yield* forUpdate('SELECT secrets, secret_uses FROM clients WHERE client_id = ?', client_id)
  const held = (row && readSecrets(row)) ?? []
  const uses = held.flatMap((secret) => {
    const at = secret.id === id ? now : secret.last_used_at
    return at === undefined ? [] : [[secret.id, at]]
  })
  yield* change(
    'UPDATE clients SET secret_uses = ? WHERE client_id = ?',
    JSON.stringify(Object.fromEntries(uses)),
    client_id,
  )
}

/**
 * Deletes a client, its consents, families and streams, and removes it from the policies of resources. A client with live tokens is deleted
 * only when forced. No live token is older than `oldest`. `only_at` is the resource that allows exchanges to this client only: without the
 * client its list would be empty, and an empty list allows other clients.
 */
export function* deleteClient({
  client_id,
  force,
  now,
  oldest,
}: {
  client_id: string
  force: boolean
  now: number
  oldest: string
}): Op<'deleted' | 'has_tokens' | { only_at: string } | undefined> {
  if (!(yield* one('SELECT 1 AS found FROM clients WHERE client_id = ?', client_id))) return undefined
  const live = 'client_id = ? AND id >= ? AND expires_at > ? AND revoked_at IS NULL AND broker_provider IS NULL'
  const token = yield* one(`SELECT 1 AS found FROM issuances WHERE ${live} LIMIT 1`, client_id, idBytes(oldest), now)
  const family = yield* one(
    'SELECT 1 AS found FROM token_families WHERE client_id = ? AND revoked_at IS NULL LIMIT 1',
    client_id,
  )
  const only_at = yield* findOnlyExchange(client_id)
  if (only_at !== undefined) return { only_at }
  if ((token || family) && !force) return 'has_tokens'
  yield* change(`UPDATE issuances SET revoked_at = ? WHERE ${live}`, now, client_id, idBytes(oldest), now)
  yield* endFamilies('client_id', client_id, 'client_deleted', now)
  yield* change('UPDATE consent_grants SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL', now, client_id)
  yield* unindexSubjects(client_id)
  yield* removeFromPolicies(client_id, now)
  const streams = yield* all('SELECT id FROM event_receivers WHERE client_id = ?', client_id)
  for (const { id } of streams) yield* deleteReceiver({ id: str(id) })
  // A document client that was denied stays so when it asks again.
  yield* change("DELETE FROM client_requests WHERE client_id = ? AND status <> 'denied'", client_id)
  yield* change('DELETE FROM client_failures WHERE client_id = ?', client_id)
  yield* change('DELETE FROM clients WHERE client_id = ?', client_id)
  return 'deleted'
}

/**
 * Deletes clients that registered themselves before `before` and never received a token. The client of a document that an
 * operator changed stays; otherwise it would return without that change. A client that an operator has named in a policy or a stream
 * stays too. Returns the number of deleted clients, at most `limit`.
 */
export function* reapClients({ before, limit }: { before: number; limit: number }): Op<number> {
  return yield* change(
    `DELETE FROM clients WHERE client_id IN (SELECT client_id FROM clients
       WHERE issued_at <= ? AND registration_source IN ('dcr', 'cimd') AND (registration_source = 'dcr' OR (status = 'active' AND operator_set IS NULL)) AND last_used_at IS NULL
         AND NOT ${IS_NAMED} ORDER BY issued_at, client_id LIMIT ?)`,
    before,
    limit,
  )
}

/** The number of clients that are not suspended. */
export function* countActiveClients(): Op<number> {
  return num((yield* one('SELECT count(*) AS n FROM clients WHERE status = ?', 'active'))?.n)
}
