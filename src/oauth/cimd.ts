// Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): a client_id that is a URL is validated, and its document
// is fetched, checked, and cached as its cache headers allow. document_client.ts stores and updates the client.
import CachePolicy from 'http-cache-semantics'
import { z } from 'zod'
import type { App, Documents } from '../context.ts'
import { type BucketStore, SharedBuckets } from '../http/shared_buckets.ts'
import { listProblems } from '../lib/bounded.ts'
import { OAuthError } from '../lib/error.ts'
import { issuesOf } from '../lib/field.ts'
import { digest } from '../lib/id.ts'
import { Lru } from '../lib/lru.ts'
import { SingleFlight } from '../lib/single_flight.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { FetchError } from '../net/error.ts'
import type { FetchReply } from '../net/fetcher.ts'
import { jsonObjectOf } from '../net/json.ts'
import type { Client, DocumentFields } from '../records/client.ts'
import { clientFields } from './client_metadata.ts'
import { authenticationFields, readAuthentication } from './document_authentication.ts'
import {
  type DocumentOnly,
  describedClient,
  followDocument,
  keepDocumentClient,
  openDocumentChanges,
} from './document_client.ts'
import { matchesPattern } from './redirect_pattern.ts'
import { effectiveDcrMode } from './registration_mode.ts'
import {
  judgeRedirects,
  selfRegisteredGrants,
  tolerantFields,
  usableReturns,
  usableTypes,
  withoutNull,
} from './self_description.ts'

const MAX_BYTES = 64 * 1024
const MAX_URL = 2048
const FLOOR_SECONDS = 60
const FAILURE_SECONDS = 30
/** A document takes at most 50 KB of memory. */
const MAX_DOCUMENTS = 1000
const FETCHES_PER_SECOND = 10
const FETCH_BURST = 50

/** Opens the cache of documents. The rate limits are counted in the store. */
export const openDocuments = (store: BucketStore): Documents => ({
  known: new Lru(MAX_DOCUMENTS),
  loading: new SingleFlight(),
  hosts: new SharedBuckets('document', { rate: FETCHES_PER_SECOND, burst: FETCH_BURST }, store),
  changes: openDocumentChanges(store),
})

const refuse = (description: string, reason: string) =>
  new OAuthError('invalid_client', description, { reason: `cimd_${reason}`, status: 400 })

/** The host is unavailable, or this service has no capacity for the request. The document itself may be valid. */
const UNAVAILABLE = /^(outbound_full|cimd_(dns_failed|connect_failed|tls_failed|timeout|bad_response|unavailable))$/
const NOT_APPROVED = 'cimd_redirect_not_approved'

/** True for client ids that name a document. */
export const isUrlShaped = (client_id: string): boolean => /^https?:/i.test(client_id)

/**
 * The client that a document describes. The document is fetched if there is no fresh copy. The client is stored only when a user consents
 * to it. Throws invalid_client with a description of the fault.
 */
export async function resolveDocumentClient(app: App, client_id: string): Promise<Client> {
  const stored = await app.store.findClient({ client_id })
  // The document of a suspended client is not fetched.
  if (stored && stored.status !== 'active') return stored
  checkUrl(app, client_id)
  const { known, loading } = app.documents
  const last = known.get(client_id)
  if (last && last.until > app.clock.now()) {
    if (last.failure) throw last.failure
    if (last.client) return settle(app, last.client, stored)
  }
  const isKnown = stored !== undefined || last?.client !== undefined
  return loading.run(client_id, () => fetchInTurn(app, client_id, isKnown))
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

/** Checks the URL itself before anything is looked up: it must be in normal form and have a path. */
function checkUrl(app: App, client_id: string): void {
  const { enabled, require_https } = app.config.cimd
  if (!enabled) throw refuse('the client is not known', 'disabled')
  const url = client_id.length <= MAX_URL ? parseHttpUrl(client_id) : undefined
  if (!url || url.href !== client_id) throw refuse('client_id is not a URL in its normal form', 'url')
  if (url.protocol !== 'https:' && require_https) throw refuse('client_id must be an https URL', 'not_https')
  if (client_id.includes('#') || url.username || url.password)
    throw refuse('client_id must have no fragment and no user', 'url')
  const segments = url.pathname.split('/').slice(1)
  const isReal = (segment: string) => segment !== '' && !/^(\.|%2e){1,2}$/i.test(segment)
  if (!segments.some(isReal) || segments.slice(0, -1).some((segment) => !isReal(segment)))
    throw refuse('client_id must have a path', 'origin_only')
}

/**
 * Fetches within a rate limit, so that this service cannot be used to flood another server. Unknown clients share the limit of their
 * host. A known client has its own limit, so that requests for invented paths on its host do not block its users.
 */
async function fetchInTurn(app: App, client_id: string, isKnown: boolean): Promise<Client> {
  await takeTurn(app, isKnown ? digest(client_id) : new URL(client_id).hostname)
  return fetchClient(app, client_id)
}

async function takeTurn({ documents }: App, of: string): Promise<void> {
  const wait = await documents.hosts.take(of)
  if (wait > 0)
    throw new OAuthError('slow_down', 'too many client documents of this host', {
      reason: 'cimd_host_rate',
      headers: { 'retry-after': String(wait) },
    })
}

/**
 * The client of a document, which is fetched unless the caller has `fetched` it. The mode admin_only does not apply to a document
 * that an operator fetched.
 */
async function fetchClient(app: App, client_id: string, fetched?: FetchReply): Promise<Client> {
  const stored = await app.store.findClient({ client_id })
  if (!stored && !fetched) await checkMode(app)
  try {
    const reply = fetched ?? (await fetchDocument(app, client_id))
    const client = describedClient(client_id, readDocument(app, client_id, reply), app.clock.now())
    await checkRedirects(app, client)
    const until = app.clock.now() + lifetime(app, client_id, reply)
    app.documents.known.set(client_id, { until, usableUntil: until + graceTime(app, reply, until), client })
    return stored ? await followDocument(app, stored, client) : client
  } catch (error) {
    const last = error instanceof OAuthError && UNAVAILABLE.test(error.reason) ? lastCopy(app, client_id) : undefined
    if (last) return settle(app, last, stored)
    // A refusal by the registration mode is not cached, because a mode that operators set takes effect at once.
    if (error instanceof OAuthError && error.status < 500 && error.reason !== NOT_APPROVED)
      app.documents.known.set(client_id, { until: app.clock.now() + FAILURE_SECONDS, failure: error })
    throw error
  }
}

/** The client of the last copy of the document, while that may still be used. The next fetch is tried after FAILURE_SECONDS. */
function lastCopy({ documents, clock, log }: App, client_id: string): Client | undefined {
  const { client, usableUntil = 0 } = documents.known.get(client_id) ?? {}
  if (!client || usableUntil <= clock.now()) return undefined
  const until = Math.min(clock.now() + FAILURE_SECONDS, usableUntil)
  documents.known.set(client_id, { until, usableUntil, client })
  log.info({ client_id }, 'the last copy of a client document is used, because the document cannot be fetched')
  return client
}

/** Checks that the registration mode in force admits a client that is not stored. Throws invalid_client. */
export async function checkAdmitted(app: App, client: Client): Promise<void> {
  await checkMode(app)
  await checkRedirects(app, client)
}

async function checkMode(app: App): Promise<void> {
  if ((await effectiveDcrMode(app)) === 'admin_only')
    throw refuse('clients must be registered by an administrator', 'admin_only')
}

async function checkRedirects(app: App, { redirect_uris }: Client): Promise<void> {
  const { approved_redirects } = app.config.dcr
  const isApproved = (uri: string) => approved_redirects.some((pattern) => matchesPattern(pattern, uri))
  if ((await effectiveDcrMode(app)) === 'approved_redirects' && !redirect_uris.every(isApproved))
    throw refuse('a redirect_uri of the client document is not approved', 'redirect_not_approved')
}

/**
 * Fetches a document for an operator, without the cache. A usable client is stored. Returns the document unchanged, with its problem if it
 * has one.
 */
export async function inspectDocument(
  app: App,
  client_id: string,
  by: Parameters<typeof keepDocumentClient>[2],
): Promise<{ document?: object; problem?: string }> {
  checkUrl(app, client_id)
  await takeTurn(app, digest(client_id))
  try {
    const reply = await fetchDocument(app, client_id)
    const document = jsonObjectOf(reply)
    app.documents.known.delete(client_id)
    try {
      const client = await fetchClient(app, client_id, reply)
      // An operator's settings, even if empty, protect the client from the purge of unused clients.
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

async function fetchDocument(app: App, client_id: string): Promise<FetchReply> {
  const startedMs = performance.now()
  try {
    const reply = await app.fetcher.fetch(client_id, {
      accept: 'application/client-id+json, application/json',
      maxBytes: MAX_BYTES,
      timeoutMs: app.config.cimd.fetch_timeout * 1000,
      allowHttp: !app.config.cimd.require_https,
    })
    const isUnavailable = reply.status >= 500 || reply.status === 429
    if (reply.status !== 200)
      throw refuse(`the client document answers with status ${reply.status}`, isUnavailable ? 'unavailable' : 'status')
    return reply
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    app.log.info({ client_id, reason: error.reason, key: error.key }, 'a client document could not be fetched')
    // The same text for every network error: otherwise a client_id could be used to scan ports.
    throw new OAuthError('invalid_client', 'the client document cannot be fetched', {
      reason: `cimd_${error.reason}`,
      status: 400,
    })
  } finally {
    app.metrics.observe('core_cimd_fetch_duration_seconds', (performance.now() - startedMs) / 1000)
  }
}

const document = z.object({
  ...tolerantFields,
  client_id: z.string(),
  client_name: clientFields.client_name,
  redirect_uris: tolerantFields.redirect_uris.refine((uris) => uris.length > 0, 'must not be empty'),
  ...authenticationFields,
  application_type: clientFields.application_type.default('web'),
  scope: clientFields.scope.default(''),
  client_secret: z.undefined('must not be in a public document').optional(),
})

function readDocument({ config }: App, client_id: string, reply: FetchReply): DocumentFields & DocumentOnly {
  const type = reply.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json' && type !== 'application/client-id+json')
    throw refuse('the client document must be application/json', 'content_type')
  const body = jsonObjectOf(reply)
  const parsed = document.safeParse(body && withoutNull(body))
  if (!parsed.success) throw refuseDocument(issuesOf(parsed.error))
  const { client_name, application_type, scope, ...said } = parsed.data
  if (said.client_id !== client_id) throw refuse('the client document has another client_id', 'client_id')
  const authentication = readAuthentication(said, config.cimd.allow_private_addresses)
  if ('problems' in authentication) throw refuseDocument(authentication.problems, 'auth_method')
  const usable = usableTypes(said, selfRegisteredGrants(config, 'open'))
  if (!usable) throw refuse('the client document does not ask for authorization_code', 'grant_types')
  const { uris: redirect_uris, faults } = judgeRedirects(
    said.redirect_uris,
    authentication,
    config.dcr.redirect_schemes,
  )
  if (redirect_uris.length === 0) throw refuseDocument(faults)
  const { post_logout_redirect_uris: returns } = said
  const post_logout_redirect_uris = usableReturns(returns, authentication, config.dcr.redirect_schemes)
  const { grant_types } = usable
  const only: DocumentOnly = { ...authentication, post_logout_redirect_uris }
  return { ...only, client_name, redirect_uris, application_type, scope, grant_types }
}

function refuseDocument(problems: readonly { path: string; message: string }[], reason = 'document'): OAuthError {
  const said = problems.map(({ path, message }) => `${path || 'it'} ${message}`)
  return refuse(`the client document is not valid: ${listProblems(said)}`, reason)
}

/** Seconds that a copy may be used beyond `until` while the host is unavailable (RFC 9111 §4.2.4): none when the document forbids it. */
function graceTime(app: App, { headers }: FetchReply, until: number): number {
  const forbids = /\b(no-store|no-cache|must-revalidate|proxy-revalidate)\b/i.test(headers['cache-control'] ?? '')
  return forbids || until <= app.clock.now() ? 0 : app.config.cimd.cache_ttl
}

/** Seconds that the document may be used: as its headers allow, at least a minute unless it must not be cached, and at most cimd.cache_ttl. */
function lifetime(app: App, url: string, { status, headers }: FetchReply): number {
  const ceiling = app.config.cimd.cache_ttl
  // The names of directives are case-insensitive (RFC 9111 §5.2), but the library only knows them in lower case.
  const control = headers['cache-control']?.toLowerCase()
  const saysHowLong = /\b(no-store|no-cache|max-age)\b/.test(control ?? '') || headers.expires !== undefined
  if (!saysHowLong) return ceiling
  const policy = new CachePolicy(
    { url, method: 'GET', headers: {} },
    { status, headers: { ...headers, 'cache-control': control } },
    { shared: false },
  )
  // timeToLive() would include the time in which a stale copy may be used.
  const seconds = policy.maxAge() - policy.age()
  return seconds <= 0 ? 0 : Math.min(Math.max(seconds, FLOOR_SECONDS), ceiling)
}
