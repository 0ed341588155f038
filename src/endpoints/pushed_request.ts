// POST /oauth/par (RFC 9126): a client pushes an authorization request, and gets the request_uri that stands for it in the URL of the browser.
import type { App } from '../context.ts'
import { authorizationCode } from '../grants/authorization_code.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { type Params, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { parseRequested, returnAddressOf } from '../oauth/sign_in/authorization.ts'
import { keepPushed } from '../oauth/sign_in/pushed_request.ts'
import type { SingleUse } from '../records/single_use.ts'
import { answerClient } from './client_request.ts'

/** Answers a pushed authorization request: everything is checked that needs no person. */
export const pushAuthorizationRequest = (app: App, request: Request): Promise<Reply> =>
  answerClient(app, request, parseForm(request), authorizationCode, push, 201)

async function push(
  app: App,
  _grant: Grant,
  { request, form, client, proof }: GrantInput,
  uses: readonly SingleUse[],
): Promise<object> {
  if (form.request_uri !== undefined)
    throw new OAuthError('invalid_request', 'request_uri must not be pushed', { reason: 'request_uri_pushed' })
  const params: Params = { ...withoutCredentials(form), client_id: client.client_id }
  if (proof && params.dpop_jkt !== undefined && params.dpop_jkt !== proof.jkt)
    throw new OAuthError('invalid_dpop_proof', 'dpop_jkt is not the key of the DPoP proof', { reason: 'proof_key' })
  const bound = proof ? { ...params, dpop_jkt: proof.jkt } : params
  returnAddressOf(client, bound)
  await parseRequested(app, bound, client)
  const pushed = await keepPushed(app, { client, remote: request.remote }, bound, uses)
  app.metrics.count('ext_pushed_requests_total')
  return pushed
}

const withoutCredentials = ({
  client_secret: _secret,
  client_assertion: _assertion,
  client_assertion_type: _type,
  ...params
}: Params): Params => params
