// Fetches and reads client ID metadata documents: what the host answers, and the client that the document describes.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { listProblems } from '../../lib/bounded.ts'
import { OAuthError } from '../../lib/error.ts'
import { issuesOf } from '../../lib/field.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { FetchError } from '../../net/error.ts'
import type { FetchReply } from '../../net/fetcher.ts'
import { jsonObjectOf } from '../../net/json.ts'
import type { Standing } from '../../net/standing.ts'
import { type Client, DOCUMENT_GONE, type DocumentFields } from '../../records/client.ts'
import { rareMembersOf } from '../../records/rare_members.ts'
import { JWT_BEARER_GRANT } from './assertion_kind.ts'
import { clientFields } from './client_metadata.ts'
import { authenticationFields, readAuthentication } from './document_authentication.ts'
import { type DocumentOnly, describedClient } from './document_client.ts'
import {
  judgeRedirects,
  saidIn,
  selfRegisteredGrants,
  sizeFault,
  tolerantFields,
  usableReturns,
  usableTypes,
} from './self_description.ts'

/** Maximum size of a document, in bytes. */
export const MAX_DOCUMENT = 64 * 1024
/** The statuses with which a host says that the document no longer exists. */
const GONE = [404, 410]

/** What can be wrong with a document. */
type CimdFault = Extract<Reason, `cimd_${string}`> extends `cimd_${infer Fault}` ? Fault : never

/** The refusal of a client because of its document. */
export const refuseCimd = (description: string, reason: CimdFault): OAuthError =>
  new OAuthError('invalid_client', description, { reason: `cimd_${reason}`, status: 400 })

/** Fetches a document. Throws invalid_client when its host does not send one. `isKnown`: it has sent one before. */
export async function fetchClientDocument(
  app: App,
  client_id: string,
  { standing, isKnown }: { standing: Standing; isKnown: boolean },
): Promise<FetchReply> {
  const startedMs = performance.now()
  const fetcher = app.fetchers[standing]
  try {
    const reply = await fetcher.fetch(client_id, {
      accept: 'application/client-id+json, application/json',
      maxBytes: MAX_DOCUMENT,
      timeoutMs: app.config.cimd.fetch_timeout * 1000,
      allowHttp: !app.config.cimd.require_https,
    })
    if (reply.status !== 200) throw refuseStatus(reply.status, isKnown)
    return reply
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    app.log.info({ client_id, reason: error.reason, key: error.key }, 'a client document could not be fetched')
    // The same text for every network error: otherwise a client_id could be used to scan ports.
    throw refuseCimd('the client document cannot be fetched', error.reason)
  } finally {
    app.metrics.observe('core_cimd_fetch_duration_seconds', (performance.now() - startedMs) / 1000)
  }
}

function refuseStatus(status: number, isKnown: boolean): OAuthError {
  const text = `the client document answers with status ${status}`
  if (isKnown && GONE.includes(status))
    return new OAuthError('invalid_client', text, { reason: DOCUMENT_GONE, status: 400 })
  return refuseCimd(text, status >= 500 || status === 429 ? 'unavailable' : 'status')
}

/** The client that a fetched document describes. Throws invalid_client that names every problem. */
export function readReply(app: App, client_id: string, reply: FetchReply): Client {
  const type = reply.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json' && type !== 'application/client-id+json')
    throw refuseCimd('the client document must be application/json', 'content_type')
  return readClientDocument(app, client_id, jsonObjectOf(reply))
}

/** Checks the size of the record of a client that is not stored. Throws invalid_client. */
export function checkSize(client: Client): void {
  const fault = sizeFault(client)
  if (fault) throw refuseDocument([fault])
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

/** The client that a document describes. Undefined: the bytes are not a JSON object. Throws invalid_client that names every problem. */
export const readClientDocument = (app: App, client_id: string, body: Record<string, unknown> | undefined): Client =>
  describedClient(client_id, fieldsIn(app, client_id, body), app.clock.now())

function fieldsIn(
  { config }: App,
  client_id: string,
  body: Record<string, unknown> | undefined,
): DocumentFields & DocumentOnly {
  const parsed = document.safeParse(body && saidIn(body))
  if (!parsed.success) throw refuseDocument(issuesOf(parsed.error))
  const { client_name, application_type, scope, ...said } = parsed.data
  if (said.client_id !== client_id) throw refuseCimd('the client document has another client_id', 'client_id')
  const authentication = readAuthentication(said, config.cimd.allow_private_addresses)
  if ('problems' in authentication) throw refuseDocument(authentication.problems, 'auth_method')
  // The policy of an operator names each document client that may use an assertion.
  const grants = [...selfRegisteredGrants(config, 'open'), ...(config.xaa.enabled ? [JWT_BEARER_GRANT] : [])]
  const usable = usableTypes(said, grants)
  if (!usable) throw refuseCimd('the client document does not ask for authorization_code', 'grant_types')
  const { uris: redirect_uris, faults } = judgeRedirects(
    said.redirect_uris,
    authentication,
    config.dcr.redirect_schemes,
  )
  if (redirect_uris.length === 0) throw refuseDocument(faults)
  const { post_logout_redirect_uris: returns } = said
  const post_logout_redirect_uris = usableReturns(returns, authentication, config.dcr.redirect_schemes)
  const { grant_types } = usable
  const only: DocumentOnly = { ...authentication, post_logout_redirect_uris, ...rareMembersOf(said) }
  return { ...only, client_name, redirect_uris, application_type, scope, grant_types }
}

function refuseDocument(
  problems: readonly { path: string; message: string }[],
  reason: CimdFault = 'document',
): OAuthError {
  const said = problems.map(({ path, message }) => `${path || 'it'} ${message}`)
  return refuseCimd(`the client document is not valid: ${listProblems(said)}`, reason)
}
