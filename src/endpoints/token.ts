// POST /oauth/token: the phases that every grant shares.
import type { App } from '../context.ts'
import type { Grant } from '../grants/grant.ts'
import { checkEnabled, checkRegistered, grants } from '../grants/index.ts'
import { json, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { refuseDetails } from '../oauth/authorization.ts'
import { replayedAssertion } from '../oauth/client_assertion.ts'
import { authenticateForToken } from '../oauth/client_auth.ts'
import { isPublic } from '../oauth/client_metadata.ts'
import { checkBinding, newNonce, replayedProof, verifyProof } from '../oauth/dpop.ts'
import { issue } from '../oauth/issue.ts'
import { endUses, usedBefore } from '../oauth/single_use.ts'
import { noteAccessRefused } from '../oauth/subject_access.ts'
import { inSpan } from '../oauth/traced.ts'
import type { Client } from '../records/client.ts'
import type { SingleUse } from '../records/single_use.ts'

const BY_TYPE = new Map(grants.map((grant) => [grant.type, grant]))

/** Answers a token request (RFC 6749 §3.2). */
export async function token(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const grant = grantFor(app, form.grant_type)
  const nonce = request.headers.dpop && app.config.dpop.enabled ? { 'dpop-nonce': newNonce(app) } : undefined
  let client: Client | undefined
  const uses: SingleUse[] = []
  try {
    const authenticated = await authenticateForToken(app, request, form, grant.clients)
    client = authenticated.client
    if (authenticated.use) uses.push(authenticated.use)
    refuseDetails(form)
    checkRegistered(client, grant)
    const proof = await verifyProof(app, request)
    if (proof) uses.push(proof.use)
    checkBinding(client, proof)
    const input = { request, form, client, proof }
    const authorization = await inSpan(app, request, `grant ${grant.name}`, (app) => grant.run(app, input))
    const response = await issue(app, request, authorization, uses)
    if (grant.counters?.issued) app.metrics.count(grant.counters.issued, authorization.labels)
    return json(200, response, nonce ? { ...NO_STORE, ...nonce } : NO_STORE)
  } catch (error) {
    throw await refusalOf(app, { request, grant, client, uses, nonce }, error)
  }
}

interface Refused {
  request: Request
  grant: Grant
  /** Known once it is authenticated. */
  client?: Client
  /** What the request has used so far. */
  uses: readonly SingleUse[]
  nonce?: Record<string, string>
}

/** Does everything that follows from a refusal. Returns what is thrown to the router: the refusal, with the DPoP nonce. */
async function refusalOf(app: App, refused: Refused, failure: unknown): Promise<unknown> {
  const { request, grant, client, uses, nonce } = refused
  await endUses(app, uses, failure)
  const error = await meaningOf(app, request, failure)
  if (!(error instanceof OAuthError)) return error
  if (client) recordDenial(app, request, grant, client, error)
  if (client) await noteAccessRefused(app, request, client.client_id, error)
  const { denied } = grant.counters ?? {}
  if (denied) app.metrics.count(denied, { reason: error.reason })
  return nonce ? error.withHeaders(nonce) : error
}

/** An error of the store that means that another process has used the proof or assertion is the refusal of a replay. */
async function meaningOf(app: App, request: Request, failure: unknown): Promise<unknown> {
  const used = usedBefore(failure)
  if (!used) return failure
  return used === 'dpop' ? replayedProof() : replayedAssertion(app, request)
}

/** Only for a client that has authenticated: other callers could fill the audit trail. The answer does not wait for the record. */
function recordDenial(app: App, request: Request, grant: Grant, client: Client, error: OAuthError) {
  if (error.status >= 500 || error.code === 'invalid_client' || isPublic(client)) return
  // An expired nonce is no refusal: the client repeats the request with a new one.
  if (error.code === 'use_dpop_nonce') return
  const { client_id } = client
  const detail = { reason: error.reason }
  audit(app, { action: grant.denied, actor_id: client_id, client_id, ...sentBy(request), detail })
}

function grantFor(app: App, type: string | undefined): Grant {
  if (type === undefined)
    throw new OAuthError('invalid_request', 'grant_type is missing', { reason: 'missing_grant_type' })
  const grant = BY_TYPE.get(type)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'the grant_type is not known', { reason: 'unknown_grant' })
  checkEnabled(app, grant)
  return grant
}
