// Pushed authorization requests (RFC 9126). The parameters are encrypted with the request_uri, which is not stored. The authorization endpoint reads
// them in place of those of the URL, on each step of the way through login and consent, until the request has its answer.
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { type Params, parseParams, replaceParam } from '../../http/message.ts'
import { checkWait, OAuthError } from '../../lib/error.ts'
import { newBearer, newId, parseBearer } from '../../lib/id.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { Client } from '../../records/client.ts'
import type { SingleUse } from '../../records/single_use.ts'
import { isPublic } from '../clients/client_metadata.ts'
import { standingOf } from '../clients/client_standing.ts'
import type { ReturnAddress } from './authorization.ts'
import { KEPT_SECONDS, KILOBYTE, sealerFor, takeRoom } from './pending_value.ts'

const URN = 'urn:ietf:params:oauth:request_uri:'
const PREFIX = 'pr'
/** Seconds in which a browser must open a request. */
const LIFETIME = 60
/** Maximum length of the parameters, in characters. */
const MAX_PUSHED = 32 * KILOBYTE
/** In a URL of our own: the person is asked, also where an earlier consent would answer, and may be another one than the client expects. */
const ASKING = 'ask_again'

/** Keeps the parameters of a request for the client that pushed it. Returns the response. Throws slow_down when there is no room for it. */
export async function keepPushed(
  app: App,
  { client, remote }: { client: Client; remote: string },
  params: Params,
  uses: readonly SingleUse[],
): Promise<{ request_uri: string; expires_in: number }> {
  const { id, value } = newBearer(PREFIX)
  const kept = { client_id: client.client_id, params }
  if (JSON.stringify(params).length > MAX_PUSHED)
    throw new OAuthError('invalid_request', 'the request is too long', { reason: 'request_too_long' })
  const sealed = await sealerFor(value).seal(kept)
  // A client that any program can be, or register, must not fill the database, nor take the room of sign-ins and of other clients.
  const pusher = { client_id: client.client_id, isOfOperators: standingOf(client) === 'operator' }
  const isLimited = isPublic(client) || !pusher.isOfOperators
  const wait = isLimited ? await takeRoom(app.pushed, remote, Math.ceil(sealed.length / KILOBYTE), pusher) : 0
  checkWait(wait, 'too many requests were pushed, from your address, by this client or in total', 'pushed_too_many')
  const now = app.clock.now()
  await app.store.pushRequest({ id, sealed, expires_at: now + LIFETIME, now, uses })
  return { request_uri: URN + value, expires_in: LIFETIME }
}

/** The parameters that count, and the pushed request that they come from. */
interface RequestedParams {
  params: Params
  pushed_id?: string
}

interface Opened extends RequestedParams {
  sealed?: string
  isAnswered?: boolean
}

const isPushed = ({ request_uri }: Params): boolean => request_uri?.startsWith(URN) === true

/** The parameters of a request. For a request_uri of ours they are those that the client pushed; undefined when it is unknown, expired, or of another client. */
export async function findRequested(app: App, sent: Params): Promise<Opened | undefined> {
  const { request_uri = '', client_id, login_for } = sent
  if (!isPushed(sent)) return { params: sent }
  const bearer = parseBearer(PREFIX, request_uri.slice(URN.length))
  const found = bearer && (await app.store.findPushedRequest({ id: bearer.id, now: app.clock.now() }))
  const kept = found && (await sealerFor(bearer.value).open(found.sealed))
  if (!kept || kept['client_id'] !== client_id) return undefined
  const pushed = kept['params'] as Params
  const params = { ...(sent[ASKING] === undefined ? pushed : askedAgain(pushed)), client_id, login_for }
  return { params, pushed_id: bearer.id, sealed: found.sealed, isAnswered: found.answered_by !== undefined }
}

const refuseUri = (description: string, reason: Reason) =>
  new OAuthError('invalid_request_uri', description, { reason, status: 400 })

/** The request_uri was used: another request has answered it. */
export const usedRequestUri = (): OAuthError => refuseUri('the request_uri was used', 'request_uri_used')

/** The parameters of a request as findRequested() reads them. Throws invalid_request_uri. */
export async function requestedParams(app: App, sent: Params): Promise<Opened> {
  const found = await findRequested(app, sent)
  if (!found)
    throw refuseUri('the request_uri is unknown, has expired, or belongs to another client', 'unknown_request_uri')
  if (found.isAnswered) throw usedRequestUri()
  return found
}

/** The parameters of a request that a browser opens: a pushed one is kept while its person signs in and decides. Throws invalid_request_uri. */
export async function openRequested(app: App, sent: Params): Promise<RequestedParams> {
  const { params, pushed_id, sealed } = await requestedParams(app, sent)
  if (pushed_id !== undefined && sealed !== undefined)
    await app.store.openPushedRequest({ id: pushed_id, sealed, expires_at: app.clock.now() + KEPT_SECONDS })
  return { params, pushed_id }
}

/** Refuses a request that its client had to push. Throws invalid_request. */
export function checkPushed({ oauth }: Config, { client, pushed_id }: ReturnAddress): void {
  if (pushed_id !== undefined) return
  if (!oauth.require_pushed_requests && !client.require_pushed_authorization_requests) return
  throw new OAuthError('invalid_request', 'the request must be pushed to /oauth/par first (RFC 9126)', {
    reason: 'not_pushed',
    status: 400,
  })
}

/** Whether a request may be answered: no other one has answered the same pushed request, and none will. */
export const mayAnswer = async (app: App, { id, pushed_id }: AuthorizationRequest): Promise<boolean> =>
  pushed_id === undefined || app.store.answerPushedRequest({ id: pushed_id, answered_by: id })

/** Ends a pushed request that is answered with an error. */
export async function endPushed(app: App, { pushed_id }: Pick<ReturnAddress, 'pushed_id'>): Promise<void> {
  if (pushed_id !== undefined) await app.store.answerPushedRequest({ id: pushed_id, answered_by: newId() })
}

const withConsent = ({ prompt = '' }: Params): string =>
  [...new Set(prompt.split(' ').filter(Boolean)).add('consent')].join(' ')

const askedAgain = ({ login_hint: _, ...pushed }: Params): Params => ({ ...pushed, prompt: withConsent(pushed) })

/** The query of a request that asks for the consent page. */
export function askingForConsent(query: string): string {
  const sent = parseParams(query, 'resource')
  return isPushed(sent) ? askingAgain(query) : replaceParam(query, 'prompt', withConsent(sent))
}

/** The query of a pushed request that asks its person again. Any other query is returned as it is. */
export const askingAgain = (query: string): string =>
  isPushed(parseParams(query, 'resource')) ? replaceParam(query, ASKING, '1') : query
