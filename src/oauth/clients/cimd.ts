// Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): a client_id that is a URL is validated, and its document
// is fetched, checked, and cached as its cache headers allow. document_client.ts stores and updates the client.
import type { App } from '../../context.ts'
import { checkWait, OAuthError } from '../../lib/error.ts'
import { digest } from '../../lib/id.ts'
import { parseHttpUrl } from '../../lib/url.ts'
import type { FetchReply } from '../../net/fetcher.ts'
import type { Standing } from '../../net/standing.ts'
import type { Client } from '../../records/client.ts'
import { type Asker, standingOf } from './client_standing.ts'
import { freshCopy, noteFailure } from './document_cache.ts'
import { followDocument } from './document_client.ts'
import { HOST_REFUSED, isHostAllowed } from './document_host.ts'
import { documentLifetime } from './document_lifetime.ts'
import { checkSize, fetchClientDocument, readReply, refuseCimd } from './document_reader.ts'
import { continuesStale, noteDocumentError, noteDocumentFetch } from './document_stale.ts'
import { fetchTurn } from './fetch_turn.ts'
import { matchesPattern } from './redirect_pattern.ts'
import { effectiveDcrMode } from './registration_mode.ts'

const MAX_URL = 2048
const NOT_APPROVED = 'cimd_redirect_not_approved'

/** True for client ids that name a document. */
export const isUrlShaped = (client_id: string): boolean => /^https?:/i.test(client_id)

/**
 * The client that a document describes. The document is fetched if there is no fresh copy. The client is stored only when a user consents
 * to it; then it continues for a while when its document cannot be fetched. Throws invalid_client with a description of the fault.
 */
export async function resolveDocumentClient(app: App, client_id: string, asker: Asker): Promise<Client> {
  const stored = await app.store.findClient({ client_id })
  // The document of a suspended client is not fetched.
  if (stored && stored.status !== 'active') return stored
  checkUrl(app, client_id)
  if (stored?.document_source === 'stored') return stored
  try {
    return await presentClient(app, client_id, stored, asker)
  } catch (error) {
    if (stored && continuesStale(app, stored, error)) return stored
    throw error
  }
}

/** The client of the fresh copy, or of the document that is fetched now. */
async function presentClient(app: App, client_id: string, stored: Client | undefined, asker: Asker): Promise<Client> {
  const { known, loading } = app.documents
  const standing = standingOf(stored, asker)
  const flight = `${standing} ${client_id}`
  /** The client of the copy. Throws its failure. */
  const copy = () => freshCopy(app, known.get(client_id), standing)
  const load = () =>
    loading.run(flight, async () => {
      const isKnown = stored !== undefined || known.get(client_id)?.client !== undefined
      await takeTurn(app, turnOf(client_id, standing, isKnown))
      return fetchClient(app, client_id, { standing })
    })
  const described = copy()
  if (described) return settle(app, described, stored)
  // Only the caller that starts a fetch needs a place. Another one may have fetched the document while this one waited.
  if (loading.get(flight)) return load()
  return fetchTurn(
    app,
    stored,
    asker,
  )(async () => {
    const fetched = copy()
    return fetched ? settle(app, fetched, stored) : load()
  })
}

/** On whose behalf a document is fetched. */
interface FetchFor {
  standing: Standing
  /** The document that the caller has fetched. */
  fetched?: FetchReply
}

/**
 * The client to use: the stored client, updated from the document unless it was changed later. Without a stored client it is the described
 * client, if the registration mode admits it.
 */
async function settle(app: App, described: Client, stored: Client | undefined): Promise<Client> {
  if (stored) return stored.updated_at > described.updated_at ? stored : followDocument(app, stored, described)
  await checkAdmitted(app, described)
  return described
}

/** Checks the URL itself before anything is looked up: it must be in normal form, have a path, and a host that is allowed. Throws invalid_client. */
export function checkUrl(app: App, client_id: string): void {
  const { enabled, require_https } = app.config.cimd
  if (!enabled) throw refuseCimd('the client is not known', 'disabled')
  const url = client_id.length <= MAX_URL ? parseHttpUrl(client_id) : undefined
  if (!url || url.href !== client_id) throw refuseCimd('client_id is not a URL in its normal form', 'url')
  if (url.protocol !== 'https:' && require_https) throw refuseCimd('client_id must be an https URL', 'not_https')
  if (client_id.includes('#') || url.username || url.password)
    throw refuseCimd('client_id must have no fragment and no user', 'url')
  const segments = url.pathname.split('/').slice(1)
  const isReal = (segment: string) => segment !== '' && !/^(\.|%2e){1,2}$/i.test(segment)
  if (!segments.some(isReal) || segments.slice(0, -1).some((segment) => !isReal(segment)))
    throw refuseCimd('client_id must have a path', 'origin_only')
  if (!isHostAllowed(app, client_id))
    throw new OAuthError('invalid_client', 'clients of this host are not allowed', {
      reason: HOST_REFUSED,
      status: 400,
    })
}

/**
 * What the rate limit counts by, so that this service cannot be used to flood another server. Unknown clients share the limit of their
 * host, anonymous callers apart from users. A known client has its own limit, so that requests for invented paths on its host do not block its users.
 */
function turnOf(client_id: string, standing: Standing, isKnown: boolean): string {
  if (isKnown) return digest(client_id)
  const { hostname } = new URL(client_id)
  return standing === 'person' ? `person ${hostname}` : hostname
}

/** Waits for nothing: throws slow_down when documents are fetched too often. */
export async function takeTurn({ documents }: App, of: string): Promise<void> {
  checkWait(await documents.hosts.take(of), 'too many client documents of this host', 'cimd_host_rate')
}

/**
 * The client of a document, which is fetched unless the caller has `fetched` it. The mode admin_only does not apply to a document
 * that an operator fetched.
 */
export async function fetchClient(app: App, client_id: string, by: FetchFor): Promise<Client> {
  const { standing, fetched } = by
  const stored = await app.store.findClient({ client_id })
  // An operator may have decided to keep the document since the request began.
  if (stored?.document_source === 'stored') return stored
  if (!stored && !fetched) await checkMode(app)
  try {
    const reply = fetched ?? (await fetchClientDocument(app, client_id, { standing, isKnown: stored !== undefined }))
    const client = readReply(app, client_id, reply)
    // A client that exists keeps the document that it was accepted with.
    if (!stored) checkSize(client)
    await checkRedirects(app, client)
    const until = app.clock.now() + documentLifetime(app, client_id, reply)
    app.documents.known.set(client_id, { until, client, standing }, stored !== undefined)
    if (!stored) return client
    const current = await followDocument(app, stored, client)
    if (current === stored) await noteDocumentFetch(app, stored)
    return current
  } catch (error) {
    // A refusal by the registration mode is not cached, because a mode that operators set takes effect at once.
    if (error instanceof OAuthError && error.status < 500 && error.reason !== NOT_APPROVED) {
      noteFailure(app, client_id, { standing, failure: error }, stored)
      // What an operator looks at does not change the client.
      if (stored && !fetched) await noteDocumentError(app, stored, error)
    }
    throw error
  }
}

/** Checks that the registration mode in force admits a client that is not stored. Throws invalid_client. */
export async function checkAdmitted(app: App, client: Client): Promise<void> {
  await checkMode(app)
  await checkRedirects(app, client)
}

async function checkMode(app: App): Promise<void> {
  if ((await effectiveDcrMode(app)) === 'admin_only')
    throw refuseCimd('clients must be registered by an administrator', 'admin_only')
}

async function checkRedirects(app: App, { redirect_uris }: Client): Promise<void> {
  const { approved_redirects } = app.config.dcr
  const isApproved = (uri: string) => approved_redirects.some((pattern) => matchesPattern(pattern, uri))
  if ((await effectiveDcrMode(app)) === 'approved_redirects' && !redirect_uris.every(isApproved))
    throw refuseCimd('a redirect_uri of the client document is not approved', 'redirect_not_approved')
}
