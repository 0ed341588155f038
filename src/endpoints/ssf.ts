// The transmitter of shared signals (OpenID SSF 1.0): its configuration, and the streams of a client that serves a resource.
import { z } from 'zod'
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { poll } from '../events/poll.ts'
import {
  checkOwnDelivery,
  checkServesResource,
  createStream,
  deliversOf,
  STREAM_STATUSES,
  streamFields,
  streamJson,
  transmitterMetadata,
  withInput,
} from '../events/stream.ts'
import { empty, json, NO_STORE, parseJson, parseParams, type Reply, type Request } from '../http/message.ts'
import { listProblems } from '../lib/bounded.ts'
import { OAuthError } from '../lib/error.ts'
import { issuesOf, jsonBool, jsonInt, listOf, text, word } from '../lib/field.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { audit, newAuditEvent, sentBy } from '../oauth/audit.ts'
import { authenticateClient } from '../oauth/clients/client_auth.ts'
import { checkToken } from '../oauth/tokens/access_token.ts'
import { checkBound, useProof } from '../oauth/tokens/dpop.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import { notStale, retryStale } from '../store/stale.ts'

/** GET /.well-known/ssf-configuration. */
export const ssfConfiguration = ({ config }: App): Reply =>
  json(200, transmitterMetadata(config.server.issuer, issuerOf(config)), { 'cache-control': 'public, max-age=3600' })

const MANAGE = 'ssf.manage'

/** The client of a request: by its credentials, or by its own access token for this service with the scope ssf.manage. */
async function callerOf(app: App, request: Request): Promise<string> {
  const [, token] = /^(?:bearer|dpop) +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
  if (token === undefined) return (await authenticateClient(app, request, {}, 'confidential')).client_id
  const live = await checkToken(app, token)
  const refuse = (reason: Reason) => new OAuthError('invalid_token', 'the access token is not valid here', { reason })
  if (typeof live === 'string') throw refuse(live)
  const { claims, issuance } = live
  request.notes.client_id = claims.client_id
  // A token for another audience, or of a user, must not manage streams.
  if (issuance.resource !== issuerOf(app.config)) throw refuse('other_audience')
  if (claims.sub !== claims.client_id) throw refuse('not_a_client')
  if (claims.cnf) checkBound(claims.cnf.jkt, await useProof(app, request, token))
  if (scopeNames(claims.scope ?? '').includes(MANAGE)) return claims.client_id
  throw new OAuthError('insufficient_scope', `the scope ${MANAGE} is required`, { reason: 'no_ssf_manage' })
}

/** A stream of the caller. Throws not_found for every other one. */
async function ownStream(app: App, client_id: string, id: string | undefined): Promise<EventReceiver> {
  const stream = id === undefined ? undefined : await app.store.findReceiver({ id })
  if (stream?.kind !== 'stream' || stream.client_id !== client_id)
    throw new OAuthError('not_found', 'there is no such stream', { reason: 'unknown_stream' })
  return stream
}

function bodyOf<S extends z.ZodType>(schema: S, request: Request): z.output<S> {
  const result = schema.safeParse(request.body.length === 0 ? {} : parseJson(request))
  if (result.success) return result.data
  const problems = issuesOf(result.error).map(({ path, message }) => `${path || 'the body'} ${message}`)
  throw new OAuthError('invalid_request', listProblems(problems), { reason: 'bad_input' })
}

const queryId = (request: Request): string | undefined => parseParams(request.query)['stream_id']
const id = text(100)
/** The bodies of the endpoints. */
export const streamBody = z.object(streamFields).partial()
export const streamPatch = z
  .object({ ...streamFields, stream_id: id })
  .partial()
  .required({ stream_id: true })

const entryOf = <A extends 'stream_created' | 'stream_deleted'>(
  request: Request,
  action: A,
  { id, client_id = '' }: EventReceiver,
) => ({ action, actor_id: client_id, client_id, ...sentBy(request), detail: { stream_id: id } })

/** POST /ssf/streams. */
export async function createOwnStream(app: App, request: Request): Promise<Reply> {
  const client_id = await callerOf(app, request)
  await checkServesResource(app, client_id)
  const eventOf = (stream: EventReceiver) => newAuditEvent(app, entryOf(request, 'stream_created', stream))
  const input = bodyOf(streamBody, request)
  checkOwnDelivery(app, input)
  const stream = await createStream(app, client_id, input, { source: 'client' }, eventOf)
  return json(201, streamJson(app, stream), NO_STORE)
}

/** GET /ssf/streams: one stream, or all of the caller. What one delivers is shown on request only: receivers of others refuse unknown members. */
export async function readOwnStreams(app: App, request: Request): Promise<Reply> {
  const client_id = await callerOf(app, request)
  const { stream_id, delivers } = parseParams(request.query)
  if (stream_id !== undefined) {
    const stream = await ownStream(app, client_id, stream_id)
    const more = delivers === 'true' ? { delivers: await deliversOf(app, stream) } : {}
    return json(200, { ...streamJson(app, stream), ...more }, NO_STORE)
  }
  const streams = (await app.store.listReceivers({ kind: 'stream' })).filter((each) => each.client_id === client_id)
  return json(
    200,
    streams.map((each) => streamJson(app, each)),
    NO_STORE,
  )
}

/** Changes a stream of the caller, until no other change comes first. */
async function changeOwn(
  app: App,
  request: Request,
  client_id: string,
  stream_id: string,
  decide: (stream: EventReceiver) => EventReceiver | Promise<EventReceiver>,
): Promise<EventReceiver> {
  return retryStale(async () => {
    const next = await decide(await ownStream(app, client_id, stream_id))
    const detail = { stream_id, status: next.status }
    const entry = { action: 'stream_updated', actor_id: client_id, client_id, ...sentBy(request), detail } as const
    notStale(await app.store.recorded('updateReceiver', next, newAuditEvent(app, entry)))
    return { ...next, version: next.version + 1 }
  })
}

/** PATCH and PUT /ssf/streams. A replacement has the defaults of the members that it does not name. */
export const changeOwnStream =
  (replaces: boolean) =>
  async (app: App, request: Request): Promise<Reply> => {
    const client_id = await callerOf(app, request)
    const { stream_id, ...input } = bodyOf(streamPatch, request)
    const blank = { events_requested: [], description: '' }
    const stream = await changeOwn(app, request, client_id, stream_id, (stored) => {
      checkOwnDelivery(app, input, stored)
      return withInput(app, stored, replaces ? { ...blank, ...input } : input)
    })
    return json(200, streamJson(app, stream), NO_STORE)
  }

/** DELETE /ssf/streams. */
export async function deleteOwnStream(app: App, request: Request): Promise<Reply> {
  const stream = await ownStream(app, await callerOf(app, request), queryId(request))
  const event = newAuditEvent(app, entryOf(request, 'stream_deleted', stream))
  await app.store.recorded('deleteReceiver', { id: stream.id }, event)
  return empty(204, NO_STORE)
}

const statusJson = ({ id: stream_id, status, settings: { status_reason: reason } }: EventReceiver) => ({
  stream_id,
  status,
  ...(reason ? { reason } : {}),
})

/** GET /ssf/status. */
export async function readStreamStatus(app: App, request: Request): Promise<Reply> {
  return json(200, statusJson(await ownStream(app, await callerOf(app, request), queryId(request))), NO_STORE)
}

export const streamStatusBody = z.object({ stream_id: id, status: word(STREAM_STATUSES), reason: text().optional() })
/** POST /ssf/status. */
export async function changeStreamStatus(app: App, request: Request): Promise<Reply> {
  const client_id = await callerOf(app, request)
  const { stream_id, status, reason } = bodyOf(streamStatusBody, request)
  const stream = await changeOwn(app, request, client_id, stream_id, (stored) => ({
    ...stored,
    status,
    settings: { ...stored.settings, status_reason: reason },
    updated_at: app.clock.now(),
  }))
  return json(200, statusJson(stream), NO_STORE)
}

export const streamVerifyBody = z.object({ stream_id: id, state: text(1024).optional() })
/** POST /ssf/verify: the verification event follows on the stream. */
export async function verifyStream(app: App, request: Request): Promise<Reply> {
  const client_id = await callerOf(app, request)
  const { stream_id, state } = bodyOf(streamVerifyBody, request)
  await ownStream(app, client_id, stream_id)
  await audit(app, {
    action: 'stream_verification_requested',
    actor_id: client_id,
    client_id,
    ...sentBy(request),
    detail: { stream_id, ...(state === undefined ? {} : { state }) },
  })
  return empty(204, NO_STORE)
}

const MAX_EVENTS = 100
const jti = text(255)
export const streamPollBody = z.object({
  maxEvents: jsonInt(0, 1_000_000).prefault(MAX_EVENTS),
  returnImmediately: jsonBool().prefault(false),
  ack: listOf(jti, { max: 1000 }).prefault([]),
  setErrs: z.record(jti, z.unknown()).prefault({}),
})
/** POST /ssf/poll/{id} (RFC 8936). */
export async function pollStream(app: App, request: Request): Promise<Reply> {
  const client_id = await callerOf(app, request)
  const stream = await ownStream(app, client_id, request.params['id'])
  await checkServesResource(app, client_id)
  const { maxEvents, ack, setErrs, ...input } = bodyOf(streamPollBody, request)
  if (stream.url !== undefined)
    throw new OAuthError('invalid_request', 'events of this stream are pushed', { reason: 'push_stream' })
  const refused = Object.keys(setErrs)
  if (refused.length > 0)
    app.log.warn({ client_id, stream_id: stream.id, events: refused.length }, 'a receiver refused security events')
  const done = [...ack, ...refused]
  return json(200, await poll(app, stream, { ...input, maxEvents: Math.min(maxEvents, MAX_EVENTS), done }), NO_STORE)
}
