// Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): a client_id that is a URL is validated, and its document
// is fetched, checked, and cached as its cache headers allow. document_client.ts stores and updates the client.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { listProblems } from '../../lib/bounded.ts'
import { OAuthError } from '../../lib/error.ts'
import { issuesOf } from '../../lib/field.ts'
import { digest } from '../../lib/id.ts'
import { parseHttpUrl } from '../../lib/url.ts'
import { FetchError } from '../../net/error.ts'
import type { FetchReply } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import type { Standing } from '../../net/standing.ts'
import type { Client, DocumentFields } from '../../records/client.ts'

import { openIdOf } from '../../records/openid_client.ts'

import { JWT_BEARER_GRANT } from './assertion_kind.ts'

import { clientFields } from './client_metadata.ts'
import { type Asker, standingOf } from './client_standing.ts'
import { authenticationFields, readAuthentication } from './document_authentication.ts'
import { freshCopy, keepLastCopy, noteFailure, usableCopy } from './document_cache.ts'
import { type DocumentOnly, describedClient, followDocument, keepDocumentClient } from './document_client.ts'
import { HOST_REFUSED, isHostAllowed } from './document_host.ts'
import { documentGrace, documentLifetime } from './document_lifetime.ts'
import { fetchTurn } from './fetch_turn.ts'
import { matchesPattern } from './redirect_pattern.ts'
import { effectiveDcrMode } from './registration_mode.ts'
import {
  judgeRedirects,
  saidIn,
  selfRegisteredGrants,
  sizeFault,
  tolerantFields,
  usableReturns,
  usableTypes,
} from './self_description.ts'

const MAX_BYTES = 64 * 1024
const MAX_URL = 2048

const refuse = (description: string, reason: string) =>
  new OAuthError('invalid_client', description, { reason: `cimd_${reason}`, status: 400 })

/** The host is unavailable, or this service has no capacity for the request. The document itself may be valid. */
const UNAVAILABLE = /^(outbound_full|cimd_(dns_failed|connect_failed|tls_failed|timeout|bad_response|unavailable))$/
const NOT_APPROVED = 'cimd_redirect_not_approved'

const isUnavailable = (error: unknown) => error instanceof OAuthError && UNAVAILABLE.test(error.reason)

/** True for client ids that name a document. */
export const isUrlShaped = (client_id: string): boolean => /^https?:/i.test(client_id)

/**
 * The client that a document describes. The document is fetched if there is no fresh copy. The client is stored only when a user consents
 * to it. Throws invalid_client with a description of the fault.
 */
export async function resolveDocumentClient(app: App, client_id: string, asker: Asker): Promise<Client> {
  const stored = await app.store.findClient({ client_id })
  // The document of a suspended client is not fetched.
  if (stored && stored.status !== 'active') return stored
  checkUrl(app, client_id)
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
  try {
    return await fetchTurn(
      app,
      stored,
      asker,
    )(async () => {
      const fetched = copy()
      return fetched ? settle(app, fetched, stored) : load()
    })
  } catch (error) {
    const last = isUnavailable(error) ? usableCopy(app, client_id) : undefined
    if (last) return settle(app, last, stored)
    throw error
  }
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

/** Checks the URL itself before anything is looked up: it must be in normal form, have a path, and a host that is allowed. */
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
async function fetchClient(app: App, client_id: string, by: FetchFor): Promise<Client> {
  const { standing, fetched } = by
  const stored = await app.store.findClient({ client_id })
  if (!stored && !fetched) await checkMode(app)
  try {
    const reply = fetched ?? (await fetchDocument(app, client_id, by))
    const client = describedClient(client_id, readDocument(app, client_id, reply), app.clock.now())
    // A client that exists keeps the document that it was accepted with.
    const fault = stored ? undefined : sizeFault(client)
    if (fault) throw refuseDocument([fault])
    await checkRedirects(app, client)
    const until = app.clock.now() + documentLifetime(app, client_id, reply)
    const usableUntil = until + documentGrace(app, reply, until)
    app.documents.known.set(client_id, { until, usableUntil, client, standing }, stored !== undefined)
    return stored ? await followDocument(app, stored, client) : client
  } catch (error) {
    const last = isUnavailable(error) ? keepLastCopy(app, client_id, stored) : undefined
    if (last) return settle(app, last, stored)
    // A refusal by the registration mode is not cached, because a mode that operators set takes effect at once.
    if (error instanceof OAuthError && error.status < 500 && error.reason !== NOT_APPROVED)
      noteFailure(app, client_id, { standing, failure: error }, stored)
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
    const reply = await fetchDocument(app, client_id, { standing: 'operator' })
    const document = jsonObjectOf(reply)
    app.documents.known.delete(client_id)
    try {
      const client = await fetchClient(app, client_id, { standing: 'operator', fetched: reply })
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

async function fetchDocument(app: App, client_id: string, { standing }: FetchFor): Promise<FetchReply> {
  const startedMs = performance.now()
  const fetcher = app.fetchers[standing]
  try {
    const reply = await fetcher.fetch(client_id, {
      accept: 'application/client-id+json, application/json',
      maxBytes: MAX_BYTES,
      timeoutMs: app.config.cimd.fetch_timeout * 1000,
      allowHttp: !app.config.cimd.require_https,
    })
    const isDown = reply.status >= 500 || reply.status === 429
    if (reply.status !== 200)
      throw refuse(`the client document answers with status ${reply.status}`, isDown ? 'unavailable' : 'status')
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
  const parsed = document.safeParse(body && saidIn(body))
  if (!parsed.success) throw refuseDocument(issuesOf(parsed.error))
  const { client_name, application_type, scope, ...said } = parsed.data
  if (said.client_id !== client_id) throw refuse('the client document has another client_id', 'client_id')
  const authentication = readAuthentication(said, config.cimd.allow_private_addresses)
  if ('problems' in authentication) throw refuseDocument(authentication.problems, 'auth_method')
  // The policy of an operator names each document client that may use an assertion.
  const grants = [...selfRegisteredGrants(config, 'open'), ...(config.xaa.enabled ? [JWT_BEARER_GRANT] : [])]
  const usable = usableTypes(said, grants)
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
  const only: DocumentOnly = { ...authentication, post_logout_redirect_uris, ...openIdOf(said) }
  return { ...only, client_name, redirect_uris, application_type, scope, grant_types }
}

function refuseDocument(problems: readonly { path: string; message: string }[], reason = 'document'): OAuthError {
  const said = problems.map(({ path, message }) => `${path || 'it'} ${message}`)
  return refuse(`the client document is not valid: ${listProblems(said)}`, reason)
}
