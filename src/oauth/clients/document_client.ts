// The client that a metadata document describes. It is kept in memory until a user consents. Then it is stored, and the stored
// client follows the changes of the document.
import type { App } from '../../context.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'
import { clip } from '../../lib/bounded.ts'
import { checkWait } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import type { Client, ClientAuthentication, DocumentFields } from '../../records/client.ts'
import { RARE_MEMBERS, type RareMembers } from '../../records/rare_members.ts'
import { type AuditActor, newAuditEvent } from '../audit.ts'
import { scopeNames } from '../tokens/resource.ts'
import { clientRecord, newClient } from './client_metadata.ts'

const FIELDS = ['client_name', 'redirect_uris', 'grant_types', 'application_type', 'scope'] as const
/** The fields that only the document sets. */
const ONLY = [
  'post_logout_redirect_uris',
  ...RARE_MEMBERS,
  'token_endpoint_auth_method',
  'token_endpoint_auth_methods_supported',
  'jwks',
  'jwks_uri',
] as const

/** Some members of an object. One that it does not have is undefined, so that it removes the member of another object. */
const pick = <T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>

/** Version of a client that is not stored. */
const UNSTORED = 0
/** True for a client that is not stored, because no user has consented to it yet. */
export const isUnstored = ({ version }: Client): boolean => version === UNSTORED

/** The client that a document describes. `now` is when it was fetched. */
export const describedClient = (client_id: string, fields: DocumentFields & DocumentOnly, now: number): Client => ({
  ...newClient(clientRecord.parse(fieldsOf(fields)), 'cimd', now, client_id).client,
  ...onlyOf(fields),
  document_source: 'fetched',
  document_fetched_at: now,
  version: UNSTORED,
})

const CHANGES_PER_SECOND = 1 / 60
const CHANGE_BURST = 10
/** Limits the changes of one document: each change costs a write and an audit event, and any request can cause it. */
export const openDocumentChanges = (store: BucketStore): SharedBuckets =>
  new SharedBuckets('document change', { rate: CHANGES_PER_SECOND, burst: CHANGE_BURST }, store)

/**
 * Updates the stored client from its document. The status and all other members that are not in a document do not change. Throws slow_down
 * when the document changes too often.
 */
export async function followDocument(app: App, stored: Client, described: Client): Promise<Client> {
  const fields = documentChanges(stored, described)
  if (fields.length === 0) return stored
  const { client_id } = stored
  const wait = await app.documents.changes.take(digest(client_id))
  checkWait(wait, 'the client document changes too often', 'cimd_changes')
  const changed = { ...withDocument(stored, described), updated_at: app.clock.now() }
  const event = newAuditEvent(app, {
    action: 'client_document_changed',
    actor_id: client_id,
    client_id,
    ip: '',
    detail: { fields, ...auditedFields(changed) },
  })
  if ((await app.store.recorded('updateClient', changed, event)) === 'stale')
    return (await app.store.findClient({ client_id })) ?? changed
  return { ...changed, version: stored.version + 1 }
}

/** The names of the members of the document of a stored client that differ in another document. */
export function documentChanges(stored: Client, described: Client): string[] {
  const before = stored.document ?? stored
  const isOther = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b)
  return [
    ...FIELDS.filter((name) => isOther(before[name], described[name])),
    ...ONLY.filter((name) => isOther(stored[name], described[name])),
  ]
}

/** A stored client with another document, within the limits that an operator set. An operator keeps it if one kept the document before. */
export function withDocument(stored: Client, described: Client): Client {
  const { operator_set } = stored
  const document = fieldsOf(described)
  return {
    ...stored,
    ...(operator_set ? { ...withinLimits(document, operator_set), document } : document),
    ...onlyOf(described),
    document_fetched_at: described.document_fetched_at,
    document_error: undefined,
  }
}

/** The members that only the document sets. */
export type DocumentOnly = ClientAuthentication & Pick<Client, 'post_logout_redirect_uris'> & RareMembers

const onlyOf = (client: DocumentOnly): DocumentOnly => pick(client, ONLY)
const fieldsOf = (client: DocumentFields): DocumentFields => pick(client, FIELDS)

/**
 * The fields of the document within the limits that an operator set. An empty list or scope of an operator limits nothing. If the
 * document has none of the scopes that the operator set, the operator's scope is used, because an empty scope would limit nothing.
 */
function withinLimits(document: DocumentFields, set: Partial<DocumentFields>): DocumentFields {
  const within = (said: readonly string[], limit: readonly string[] = []) =>
    said.filter((each) => limit.length === 0 || limit.includes(each))
  const scope = within(scopeNames(document.scope), scopeNames(set.scope ?? '')).join(' ')
  return {
    client_name: set.client_name ?? document.client_name,
    application_type: set.application_type ?? document.application_type,
    redirect_uris: within(document.redirect_uris, set.redirect_uris),
    grant_types: within(document.grant_types, set.grant_types),
    scope: scope || (set.scope ?? ''),
  }
}

/**
 * A client with the fields that an operator sets. They stay in force when the document of the client changes. The scope of a client
 * that registered itself was a default, and becomes a limit.
 */
export function setByOperator(client: Client, given: Partial<Client>): Client {
  const patch = withOneKeySource(given)
  if (client.registration_source !== 'cimd') {
    const { scope } = patch
    const isLimited = client.registration_source === 'dcr' && scope !== undefined
    return { ...client, ...patch, ...(isLimited ? { operator_set: { scope } } : {}) }
  }
  const document = client.document ?? fieldsOf(client)
  const set = FIELDS.filter((name) => patch[name] !== undefined).map((name) => [name, patch[name]])
  const operator_set = { ...client.operator_set, ...Object.fromEntries(set) }
  return { ...client, ...patch, ...withinLimits(document, operator_set), operator_set, document }
}

/** New `jwks` replace a `jwks_uri`, and a new `jwks_uri` replaces `jwks`. */
const withOneKeySource = (patch: Partial<Client>): Partial<Client> =>
  patch.jwks === patch.jwks_uri ? patch : { ...patch, jwks: patch.jwks, jwks_uri: patch.jwks_uri }

/** Stores a client that was only a document until now, because a user consents to it or an operator wants it. */
export async function keepDocumentClient(app: App, client: Client, by: AuditActor): Promise<void> {
  if (!isUnstored(client)) return
  const { client_id } = client
  const kept = { ...client, version: UNSTORED + 1, issued_at: app.clock.now() }
  const detail = auditedFields(client)
  const event = newAuditEvent(app, { ...by, action: 'client_registered', client_id, detail })
  if ((await app.store.recorded('createClient', kept, event)) === 'created')
    app.metrics.count('core_clients_registered_total', { source: 'cimd' })
}

const MAX_AUDITED_URI = 256
/** The members of a self-registered client that the audit trail contains. */
export const auditedFields = ({ client_name, redirect_uris }: Client) => ({
  client_name,
  redirect_uris: redirect_uris.map((uri) => clip(uri, MAX_AUDITED_URI)),
})
