// POST /oauth/token: the phases that every grant shares.
import type { App } from '../context.ts'
import { clientCredentials } from '../grants/client_credentials.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { checkEnabled, grants } from '../grants/index.ts'
import { type Params, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { noteClient } from '../oauth/clients/client_auth.ts'
import { giveBackToken, takeToken } from '../oauth/clients/client_limits.ts'
import { isOwnAssertion } from '../oauth/clients/token_auth.ts'
import { checkBinding } from '../oauth/tokens/dpop.ts'
import { type Authorization, issue, type TokenResponse } from '../oauth/tokens/issue.ts'
import type { SingleUse } from '../records/single_use.ts'
import { inSpan } from '../telemetry/trace.ts'
import { answerClient } from './client_request.ts'

const BY_TYPE = new Map<string, Grant>(grants.map((grant) => [grant.type, grant]))

/** Answers a token request (RFC 6749 §3.2). */
export async function token(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  return answerClient(app, request, form, grantFor(app, request, form), issueFor)
}

async function issueFor(app: App, grant: Grant, input: GrantInput, uses: readonly SingleUse[]): Promise<TokenResponse> {
  const { request, client, proof } = input
  checkBinding(client, proof)
  const authorization = await inSpan(`grant ${grant.name}`, () => grant.run(app, input))
  const response = await issueCounted(app, request, authorization, uses)
  // The code or token that a public client sent proves that a user allowed it.
  noteClient(request, client)
  if (grant.counters?.issued) app.metrics.count(grant.counters.issued, authorization.labels)
  return response
}

/** Issues a token within the limits of its client. They are checked before the code or token that was presented is used up. */
async function issueCounted(
  app: App,
  request: Request,
  authorization: Authorization,
  uses: readonly SingleUse[],
): Promise<TokenResponse> {
  const { client } = authorization
  await takeToken(app, client)
  try {
    return await issue(app, request, authorization, uses)
  } catch (error) {
    giveBackToken(app, client)
    throw error
  }
}

function grantFor(app: App, request: Request, form: Params): Grant {
  const type = form.grant_type
  if (type === undefined)
    throw new OAuthError('invalid_request', 'grant_type is missing', { reason: 'missing_grant_type' })
  // A client that proves itself by the assertion alone acts for itself.
  const grant = isOwnAssertion(request, form) ? clientCredentials : BY_TYPE.get(type)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'the grant_type is not known', { reason: 'unknown_grant' })
  checkEnabled(app, grant)
  return grant
}
