// Admin operations on the metadata documents of clients: an operator keeps one, or has one fetched now.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { jsonBool } from '../../lib/field.ts'
import { isUrlShaped } from '../../oauth/clients/cimd.ts'
import { auditedFields, documentChanges, withDocument } from '../../oauth/clients/document_client.ts'
import {
  clientOfFetched,
  clientOfKept,
  type DescribedClient,
  inspectDocument,
} from '../../oauth/clients/operator_document.ts'
import type { Client } from '../../records/client.ts'
import { retryStale } from '../../store/stale.ts'
import { action } from '../action.ts'
import * as answers from '../answers/client_answers.ts'
import { changedFields, conflict, invalid, notFound } from '../outcome.ts'
import { checkClientChange } from '../rights.ts'
import { creatable } from './client_members.ts'
import { getClient } from './client_record.ts'

type Creatable = z.output<typeof creatable>

/** A refusal of a document, as operators get it: with its reason, for which the documentation has a remedy. */
const asInvalid = (error: unknown): unknown =>
  error instanceof OAuthError && error.code === 'invalid_client'
    ? invalid(`${error.message} (${error.reason})`, error.reason)
    : error

/** The client of a document that an operator sends, or of the one at its URL. Throws invalid_request that says what is wrong. */
async function described(app: App, client_id: string, document: Creatable['document']): Promise<DescribedClient> {
  try {
    return document
      ? { client: clientOfKept(app, client_id, document), document }
      : await clientOfFetched(app, client_id)
  } catch (error) {
    throw asInvalid(error)
  }
}

/** The refusal of a client_id that is taken. */
export const clientExists = (): OAuthError => conflict('a client with this client_id exists already', 'client_exists')

/** The record of a new client whose client_id is a URL. Undefined for another client_id. Throws invalid_request. */
export async function newDocumentClient(app: App, body: Creatable): Promise<Client | undefined> {
  const { client_id, document, ...others } = body
  if (client_id === undefined || !isUrlShaped(client_id)) {
    if (document) throw invalid('document is only for a client_id that is a URL', 'document_without_url')
    return undefined
  }
  const named = changedFields(creatable.parse({ client_id }), others)
  if (named.length > 0)
    throw invalid(
      `${named.join(', ')}: the metadata document at client_id decides; change the client afterwards`,
      'document_members',
    )
  // Nothing is fetched for a client that exists.
  if (await app.store.findClient({ client_id })) throw clientExists()
  const { client } = await described(app, client_id, document)
  // An operator's settings, even if empty, protect the client from the purge of unused clients.
  return { ...client, kept_document: document, operator_set: {}, version: 1 }
}

/** A client with a document that the operator keeps from now on, and the names of the members that change. Throws invalid_request. */
export async function withKeptDocument(
  app: App,
  client: Client,
  document: NonNullable<Creatable['document']>,
): Promise<{ next: Client; fields: string[] }> {
  if (client.registration_source !== 'cimd')
    throw invalid('document is only for a client_id that is a URL', 'document_without_url')
  const { client: kept } = await described(app, client.client_id, document)
  const source = client.document_source === 'stored' ? [] : ['document_source']
  const fields = [...documentChanges(client, kept), ...source]
  const next: Client = { ...withDocument(client, kept), document_source: 'stored', kept_document: document }
  return { next, fields: fields.length === 0 && isGivenAnew(client, next) ? ['kept_document'] : fields }
}

/** Whether a document that an operator keeps differs, also in what the client does not have from it. */
const isGivenAnew = (before: Client, next: Client): boolean =>
  !isDeepStrictEqual(before.kept_document, next.kept_document)

const noDocument = () => invalid('the client has no metadata document', 'no_document')

/** The operation that shows the document of a client as its host sends it. */
export const fetchDocument = action('POST /admin/clients/{client_id}/fetch-document', {
  doc: 'Fetches the metadata document of a client now, and shows the document and its errors. If the client is not stored yet and its document is valid, the client is stored, unless it waits for approval (clients.approval). The document of a client that an operator keeps is not fetched: use refresh-document.',
  answer: answers.fetchedDocument,
  tool: { name: 'fetch_client_document', title: 'Fetch the metadata document of a client' },
  audit: 'client_document_fetched',
  async run(app, { params: { client_id } }, caller) {
    const client = await app.store.findClient({ client_id })
    if (!client && !isUrlShaped(client_id)) throw notFound('client')
    if (client && client.registration_source !== 'cimd') throw noDocument()
    if (client?.document_source === 'stored')
      throw invalid('an operator keeps the document of this client; refresh-document fetches it', 'document_stored')
    const shown = await inspectDocument(app, client_id, caller)
    return { shown, noted: { client_id, detail: { usable: shown.problem === undefined } } }
  },
})

const refresh = z.strictObject({
  dry_run: jsonBool().default(false).describe('Only show what would change.'),
})

/** The operation that replaces the document of a client with the one at its URL. */
export const refreshDocument = action('POST /admin/clients/{client_id}/refresh-document', {
  doc: 'Fetches the metadata document of a client once, uses it from now on, and shows what changed. A document that an operator keeps is replaced, and is still not fetched afterwards. When its host does not send a valid document, nothing changes.',
  answer: answers.refreshedDocument,
  body: refresh,
  bodyOptional: true,
  audit: 'client_document_refreshed',
  async run(app, { params: { client_id }, body: { dry_run } }, by) {
    const before = await getClient(app, client_id)
    if (before.registration_source !== 'cimd') throw noDocument()
    const { client: fetched, document } = await described(app, client_id, undefined)
    // Only this is repeated, so that the document is fetched once.
    return retryStale(async () => {
      const client = await getClient(app, client_id)
      const changed = documentChanges(client, fetched)
      if (dry_run) return { shown: { dry_run, changed } }
      const kept_document = client.document_source === 'stored' ? document : undefined
      const next = { ...withDocument(client, fetched), kept_document, updated_at: app.clock.now() }
      if (changed.length === 0 && !isGivenAnew(client, next)) {
        await app.store.noteDocument({ client_id, fetched_at: next.document_fetched_at })
        return { shown: { dry_run, changed } }
      }
      await checkClientChange(app, by, next, client)
      const change = { client_id, detail: { fields: changed, ...auditedFields(next) } }
      await by.record('updateClient', next, change)
      return { shown: { dry_run, changed } }
    })
  },
})
