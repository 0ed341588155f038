// The phases that the token and the device authorization endpoint share: client authentication, the DPoP proof, and refusals.
import type { App } from '../context.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { checkRegistered } from '../grants/index.ts'
import { json, NO_STORE, type Params, type Reply, type Request } from '../http/message.ts'
import { type ErrorCode, OAuthError } from '../lib/error.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { checkApproved, checkNotDenied, needsApproval } from '../oauth/clients/approval.ts'
import { replayedAssertion } from '../oauth/clients/client_assertion.ts'
import { takeRequest } from '../oauth/clients/client_limits.ts'
import { isPublic } from '../oauth/clients/client_metadata.ts'
import { standingOf } from '../oauth/clients/client_standing.ts'
import { authenticateForToken } from '../oauth/clients/token_auth.ts'
import { mayAuditRefusal } from '../oauth/refusal_limit.ts'
import { refuseDetails } from '../oauth/tokens/authorization_details.ts'
import { newNonce, replayedProof, verifyProof } from '../oauth/tokens/dpop.ts'
import type { RuleName } from '../oauth/tokens/rule_name.ts'
import { endUses, usedBefore } from '../oauth/tokens/single_use.ts'
import { noteAccessRefused } from '../oauth/tokens/subject_access.ts'
import type { Client } from '../records/client.ts'
import type { SingleUse } from '../records/single_use.ts'

/** Decides on the request of an authenticated client, and commits the uses of its proof and assertion. Returns the body of the response. */
type Answer = (app: App, grant: Grant, input: GrantInput, uses: readonly SingleUse[]) => Promise<object>

/** Answers a request of a client for a grant, with `status` if it succeeds. */
export async function answerClient(
  app: App,
  request: Request,
  form: Params,
  grant: Grant,
  answer: Answer,
  status = 200,
): Promise<Reply> {
  const nonce = nonceFor(app, request)
  let client: Client | undefined
  const uses: SingleUse[] = []
  try {
    const authenticated = await authenticateForToken(app, request, form, grant)
    client = authenticated.client
    // Before its assertion counts as used, because that would cost a write.
    await takeRequest(app, client)
    if (authenticated.use) uses.push(authenticated.use)
    if (form.authorization_details !== undefined && !grant.rules.some(isAboutDetails)) refuseDetails(form)
    checkRegistered(client, grant)
    if (needsApproval(app.config, client)) await checkApproval(app, client, grant)
    const proof = await verifyProof(app, request)
    if (proof) uses.push(proof.use)
    const response = await answer(app, grant, { request, form, client, proof }, uses)
    return json(status, response, nonce ? { 'dpop-nonce': nonce['dpop-nonce'], ...NO_STORE } : NO_STORE)
  } catch (error) {
    throw await followRefusal(app, { request, grant, client, uses, nonce }, error)
  }
}

/** The header with a fresh DPoP nonce. Undefined for a request without a proof, and where DPoP is disabled. */
export const nonceFor = (app: App, { headers }: Request): { 'dpop-nonce': string } | undefined =>
  headers.dpop !== undefined && app.config.dpop.enabled ? { 'dpop-nonce': newNonce(app) } : undefined

/** A client that waits for its approval may poll for a user, and use what users allowed before. The grant of an assertion asks the policies. */
const checkApproval = (app: App, client: Client, { isMachine }: Grant): Promise<unknown> =>
  isMachine ? checkApproved(app, client) : checkNotDenied(app, client, 'unauthorized_client')

/** A grant without this rule would ignore the details. */
const isAboutDetails = ({ name }: { name: RuleName }): boolean => name === 'authorization_details'

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
export async function followRefusal(app: App, refused: Refused, failure: unknown): Promise<unknown> {
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

/** No refusals: the client repeats the request with a new nonce, or a device polls until its user decides. */
const EXPECTED: readonly ErrorCode[] = ['use_dpop_nonce', 'authorization_pending', 'slow_down']

/** Only for a client that has authenticated: other callers could fill the audit trail. The answer does not wait for the record. */
function recordDenial(app: App, request: Request, grant: Grant, client: Client, error: OAuthError) {
  if (error.status >= 500 || error.code === 'invalid_client' || isPublic(client)) return
  if (EXPECTED.includes(error.code)) return
  const { client_id } = client
  const isTrusted = standingOf(client) === 'operator'
  if (!isTrusted && !mayAuditRefusal(app, request, client_id, grant.denied)) return
  const detail = { reason: error.reason }
  audit(app, { action: grant.denied, actor_id: client_id, client_id, ...sentBy(request), detail })
}
