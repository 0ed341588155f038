// Stored clients whose document cannot be fetched. They continue with their last good copy, which is their record, for cimd.stale_if_error. So
// it outlives a restart. A host that says that the document no longer exists (404, 410) ends them.
import type { App } from '../../context.ts'
import { clip } from '../../lib/bounded.ts'
import { OAuthError } from '../../lib/error.ts'
import { type Client, DOCUMENT_GONE, isDocumentGone } from '../../records/client.ts'

/** The host refuses, does not answer, or sends what is not a document. */
const FAILED =
  /^cimd_(bad_url|blocked_address|dns_failed|connect_failed|tls_failed|timeout|redirect|too_large|bad_response|bad_document|status|unavailable|content_type|document|client_id|auth_method|grant_types)$/
/** This service has no capacity for the fetch. */
const FULL = 'outbound_full'

/** Whether a stored client continues although its document cannot be used because of `error`. */
export function continuesStale({ config, clock }: App, client: Client, error: unknown): boolean {
  if (!(error instanceof OAuthError) || !(error.reason === FULL || FAILED.test(error.reason))) return false
  const { cache_ttl, stale_if_error } = config.cimd
  const { document_fetched_at: fetched_at } = client
  if (stale_if_error === 0 || fetched_at === undefined || isDocumentGone(client)) return false
  return clock.now() < fetched_at + cache_ttl + stale_if_error
}

const MAX_ERROR = 500

/** Stores why the document of a client cannot be used: operators see it, and no other instance uses a copy of a document that is gone. */
export async function noteDocumentError(app: App, client: Client, failure: OAuthError): Promise<void> {
  const { reason, message } = failure
  // A host that has ended the client does not start it again by another failure.
  if (reason !== DOCUMENT_GONE && (!FAILED.test(reason) || isDocumentGone(client))) return
  const error = `${clip(message, MAX_ERROR)} (${reason})`
  if (error !== client.document_error) await note(app, { client_id: client.client_id, error })
}

/** Seconds between two writes of the time of a fetch. */
const NOTE_SECONDS = 60

/** Stores that a document was fetched which has not changed, at most once a minute, and removes the error of the fetch before. */
export async function noteDocumentFetch(app: App, client: Client): Promise<void> {
  const { client_id, document_fetched_at = 0, document_error } = client
  const now = app.clock.now()
  const isNoted = now - document_fetched_at < Math.min(NOTE_SECONDS, app.config.cimd.cache_ttl)
  if (!isNoted || document_error !== undefined) await note(app, { client_id, fetched_at: now })
}

/** The request does not fail with this write. The storage reports its own failures. */
const note = ({ store, log }: App, result: Parameters<App['store']['noteDocument']>[0]): Promise<void> =>
  store.noteDocument(result).catch((error: unknown) => {
    log.debug({ err: error, client_id: result.client_id }, 'the fetch of a client document could not be recorded')
  })
