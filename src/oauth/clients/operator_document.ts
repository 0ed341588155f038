// Documents of clients in the hands of operators, who keep one here or have one fetched now, without the cache.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import { addressRules, literalFault } from '../../net/address_rules.ts'
import type { FetchReply } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import type { Client } from '../../records/client.ts'
import { approvalOf } from './approval.ts'
import { checkUrl, fetchClient, takeTurn } from './cimd.ts'
import { keepDocumentClient } from './document_client.ts'
import {
  checkSize,
  fetchClientDocument,
  MAX_DOCUMENT,
  readClientDocument,
  readReply,
  refuseCimd,
} from './document_reader.ts'

/** A client and its document, as it was given. */
export interface DescribedClient {
  client: Client
  document?: Record<string, unknown>
}

/** The client of a document that an operator keeps. The document is judged as if it had been fetched. Throws invalid_client. */
export function clientOfKept(app: App, client_id: string, document: Record<string, unknown>): Client {
  checkUrl(app, client_id)
  if (literalFault(new URL(client_id), addressRules(app.config, 'cimd')))
    throw refuseCimd('the client document cannot be fetched', 'blocked_address')
  if (Buffer.byteLength(JSON.stringify(document)) > MAX_DOCUMENT)
    throw refuseCimd(`the client document has more than ${MAX_DOCUMENT} bytes`, 'too_large')
  const client = readClientDocument(app, client_id, document)
  checkSize(client)
  return { ...client, document_source: 'stored', document_fetched_at: undefined }
}

/** The document at a URL now, and its client. Throws invalid_client when its host does not send one, and slow_down. */
export async function clientOfFetched(app: App, client_id: string): Promise<DescribedClient> {
  checkUrl(app, client_id)
  const reply = await fetchNow(app, client_id)
  const client = readReply(app, client_id, reply)
  checkSize(client)
  app.documents.known.delete(client_id)
  return { client, document: jsonObjectOf(reply) }
}

async function fetchNow(app: App, client_id: string): Promise<FetchReply> {
  await takeTurn(app, digest(client_id))
  return fetchClientDocument(app, client_id, { standing: 'operator', isKnown: false })
}

/** Fetches a document. A usable client is stored, unless it waits for approval: an inspection approves nothing. Returns the document unchanged, with its problem if it has one. Throws invalid_client for its URL. */
export async function inspectDocument(
  app: App,
  client_id: string,
  by: Parameters<typeof keepDocumentClient>[2],
): Promise<{ document?: object; problem?: string }> {
  checkUrl(app, client_id)
  try {
    const reply = await fetchNow(app, client_id)
    const document = jsonObjectOf(reply)
    app.documents.known.delete(client_id)
    try {
      const client = await fetchClient(app, client_id, { standing: 'operator', fetched: reply })
      // An operator's settings, even if empty, protect the client from the purge of unused clients.
      if ((await approvalOf(app, client)) === 'approved')
        await keepDocumentClient(app, { ...client, operator_set: {} }, by)
      return { document }
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      return { document, problem: error.message }
    }
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') return { problem: error.message }
    throw error
  }
}
