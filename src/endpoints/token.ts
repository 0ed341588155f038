// POST /oauth/token: the phases that every grant shares.
import type { App } from '../context.ts'
import type { Grant } from '../grants/grant.ts'
import { checkEnabled, checkRegistered, grants } from '../grants/index.ts'
import { json, NO_STORE, type Params, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { refuseDetails } from '../oauth/authorization.ts'
import { authenticateClient } from '../oauth/client_auth.ts'
import { checkBinding, newNonce, type Proof, verifyProof } from '../oauth/dpop.ts'
import { issue, type TokenResponse } from '../oauth/issue.ts'
import { giveBack } from '../oauth/single_use.ts'
import { inSpan } from '../oauth/traced.ts'
import type { Client } from '../records/client.ts'

const BY_TYPE = new Map(grants.map((grant) => [grant.type, grant]))

/** Answers a token request (RFC 6749 §3.2). */
export async function token(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const grant = grantFor(app, form.grant_type)
  const denied = grant.counters?.denied
  const nonce = request.headers.dpop && app.config.dpop.enabled ? { 'dpop-nonce': newNonce(app) } : undefined
  try {
    const response = await run(app, request, form, grant)
    return json(200, response, nonce ? { ...NO_STORE, ...nonce } : NO_STORE)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    if (denied) app.metrics.count(denied, { reason: error.reason })
    throw nonce ? error.withHeaders(nonce) : error
  }
}

async function run(app: App, request: Request, form: Params, grant: Grant): Promise<TokenResponse> {
  const client = await authenticateClient(app, request, form, grant.clients)
  let proof: Proof | undefined
  try {
    refuseDetails(form)
    checkRegistered(client, grant)
    proof = await verifyProof(app, request)
    checkBinding(client, proof)
    const authorization = await inSpan(app, request, `grant ${grant.name}`, (app) =>
      grant.run(app, { request, form, client, proof }),
    )
    const response = await issue(app, request, authorization)
    if (grant.counters?.issued) app.metrics.count(grant.counters.issued, authorization.labels)
    return response
  } catch (error) {
    await giveBack(app, proof?.use, error)
    recordDenial(app, request, grant, client, error)
    throw error
  }
}

/** Only of a client that has proved who it is: anybody else could fill the trail. Nobody waits for it. */
function recordDenial(app: App, request: Request, grant: Grant, client: Client, error: unknown): void {
  if (!(error instanceof OAuthError) || error.status >= 500 || client.secret_hash === undefined) return
  // A nonce that has run out is no refusal: the client comes again with a new one.
  if (error.code === 'use_dpop_nonce') return
  const { client_id } = client
  const detail = { reason: error.reason }
  audit(app, {
    action: grant.denied,
    actor_id: client_id,
    client_id,
    ...sentBy(request),
    detail,
  })
}

function grantFor(app: App, type: string | undefined): Grant {
  if (type === undefined)
    throw new OAuthError('invalid_request', 'grant_type is missing', { reason: 'missing_grant_type' })
  const grant = BY_TYPE.get(type)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'the grant_type is not known', { reason: 'unknown_grant' })
  checkEnabled(app, grant)
  return grant
}
