// The grants whose client polls until a person has decided (RFC 8628 §3.4, CIBA §10.1). The approved request is redeemed in the same way as
// that of an authorization code.
import type { App } from '../context.ts'
import type { Params } from '../http/message.ts'
import { type ErrorCode, OAuthError } from '../lib/error.ts'
import { equalSecrets, parseBearer } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { millisOf } from '../lib/time.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import type { PolledRequest } from '../records/polled_request.ts'
import type { GrantInput } from './grant.ts'
import { type CodeKind, redeemApproved } from './redemption.ts'

/** A kind of request that is polled for. */
export interface PolledKind {
  readonly code: CodeKind
  /** The value that names the request, its parameter and its prefix. */
  sent(form: Params): string | undefined
  readonly parameter: 'device_code' | 'auth_req_id'
  readonly prefix: string
  readonly isApproval: boolean
  /** Who polls, in reasons. */
  readonly of: 'device' | 'approval'
}

/** The answers that only these grants have (RFC 8628 §3.5, CIBA §11). All of them have status 400 (RFC 6749 §5.2). */
const answer = (code: ErrorCode, description: string, reason: Reason) =>
  new OAuthError(code, description, { reason, status: 400 })

/** Decides on a poll. Throws the answer while there is no token. */
export async function redeemPolled(app: App, input: GrantInput, kind: PolledKind): Promise<Authorization> {
  const { form, client } = input
  const { parameter, prefix, of, code } = kind
  const value = kind.sent(form)
  if (value === undefined)
    throw new OAuthError('invalid_request', `${parameter} is missing`, { reason: `missing_${parameter}` })
  const bearer = parseBearer(prefix, value)
  const polled = bearer && (await app.store.findPolledRequest({ id: bearer.id }))
  const isOfKind = polled && (polled.approval !== undefined) === kind.isApproval
  if (!bearer || !isOfKind || !equalSecrets(bearer.hash, polled.hash)) throw code.refuse(`unknown_${parameter}`)
  if (polled.client_id !== client.client_id) throw code.refuse(`${parameter}_of_another_client`)
  const { decision } = polled
  if (decision === undefined || decision === 'expired') throw await unapproved(app, kind, polled)
  const found = decision === 'approved' ? await app.store.findCode({ id: polled.id }) : undefined
  // An approval without its request: it was cancelled since, because the user was disabled or signed out everywhere.
  if (!found) throw answer('access_denied', 'the user denied the request', `${of}_${decision}`)
  if (found.request.consumed_at === undefined && polled.expires_at <= app.clock.now()) throw expired(kind)
  return redeemApproved(app, input, code, found)
}

const expired = ({ parameter }: PolledKind) =>
  answer('expired_token', `the ${parameter} has expired`, `${parameter}_expired`)

/** The answer to a poll before the decision. */
async function unapproved(app: App, kind: PolledKind, { id, expires_at }: PolledRequest): Promise<OAuthError> {
  const { of } = kind
  if (expires_at <= app.clock.now()) return expired(kind)
  return (await app.store.pollPolledRequest({ id, now_ms: millisOf(app.clock) })) === 'pending'
    ? answer('authorization_pending', 'the user has not decided yet', `${of}_pending`)
    : answer('slow_down', 'the client asks too often: wait 5 seconds longer between two requests', `${of}_slow_down`)
}
