// POST /oauth/token: the phases that every grant shares.
import type { App } from '../context.ts'
import { clientCredentials } from '../grants/client_credentials.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { checkEnabled, grants } from '../grants/index.ts'
import { NO_STORE, type Params, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { noteClient } from '../oauth/clients/client_auth.ts'
import { giveBackToken, takeRequest, takeToken } from '../oauth/clients/client_limits.ts'
import { isOwnAssertion } from '../oauth/clients/token_auth.ts'
import { checkBinding, verifyProof } from '../oauth/tokens/dpop.ts'
import { type Authorization, issue, type TokenResponse } from '../oauth/tokens/issue.ts'
import {
  findPrepared,
  issuePrepared,
  keepPrepared,
  notePrepared,
  type Prepared,
  resourcesVersion,
} from '../oauth/tokens/prepared.ts'
import type { Client } from '../records/client.ts'
import type { SingleUse } from '../records/single_use.ts'
import { inSpan } from '../telemetry/trace.ts'
import { answerClient, followRefusal, nonceFor } from './client_request.ts'

const BY_TYPE = new Map<string, Grant>(grants.map((grant) => [grant.type, grant]))

/** Answers a token request (RFC 6749 §3.2). */
export function token(app: App, request: Request): Promise<Reply> {
  const prepared = findPrepared(app, request)
  return prepared ? answerPrepared(app, request, prepared) : answerByRules(app, request)
}

async function answerByRules(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  return answerClient(app, request, form, grantFor(app, request, form), issueFor)
}

/** Answers with a prepared token, within the limits of the client. */
async function answerPrepared(app: App, request: Request, prepared: Prepared): Promise<Reply> {
  const { client } = prepared.authorization
  const nonce = nonceFor(app, request)
  const uses: SingleUse[] = []
  try {
    notePrepared(app, request, prepared)
    const waits = takeRequest(app, client)
    if (waits) await waits
    const proof = nonce && (await verifyProof(app, request))
    if (proof) uses.push(proof.use)
    const body = await counted(app, client, () => issuePrepared(app, request, prepared, uses))
    countGrant(app, clientCredentials, prepared.authorization)
    return { status: 200, headers: { 'content-type': 'application/json', ...NO_STORE, ...nonce }, body }
  } catch (error) {
    throw await followRefusal(app, { request, grant: clientCredentials, client, uses, nonce }, error)
  }
}

async function issueFor(app: App, grant: Grant, input: GrantInput, uses: readonly SingleUse[]): Promise<TokenResponse> {
  const { request, form, client, proof } = input
  checkBinding(client, proof)
  const resources = resourcesVersion(app)
  const authorization = await inSpan(`grant ${grant.name}`, () => grant.run(app, input))
  const response = await counted(app, authorization.client, () => issue(app, request, authorization, uses))
  // The code or token that a public client sent proves that a user allowed it.
  noteClient(request, client)
  countGrant(app, grant, authorization)
  if (grant.isPrepared) keepPrepared(app, request, form, authorization, response, resources)
  return response
}

const countGrant = ({ metrics }: App, { counters }: Grant, { labels }: Authorization): void => {
  if (counters?.issued) metrics.count(counters.issued, labels)
}

/** Issues a token within the limits of its client. They are checked before the code or token that was presented is used up. */
async function counted<R>(app: App, client: Client, work: () => Promise<R>): Promise<R> {
  const waits = takeToken(app, client)
  if (waits) await waits
  try {
    return await work()
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
