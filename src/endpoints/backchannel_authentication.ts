// POST /oauth/bc-authorize (CIBA Core §7): a client asks a person for an approval, and polls with the auth_req_id that it gets. A person who
// does not exist, or may not sign in, is asked like any other: the answers do not tell which accounts exist.
import type { App } from '../context.ts'
import { ciba } from '../grants/ciba.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { type Params, parseForm, type Reply, type Request } from '../http/message.ts'
import { checkWait, type ErrorCode, OAuthError } from '../lib/error.ts'
import { isBlank } from '../lib/field.ts'
import { newId } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { HOUR } from '../lib/time.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { isUserId } from '../oauth/clients/client_metadata.ts'
import { eventOf, newAuthReqId, personOfHint } from '../oauth/sign_in/approval.ts'
import { dueSignIn, parseClasses } from '../oauth/sign_in/authentication_request.ts'
import { verifyIdTokenHint } from '../oauth/sign_in/id_token_hint.ts'
import { sealerFor } from '../oauth/sign_in/pending_value.ts'
import { askedGrant, ELSEWHERE, storedAsked } from '../oauth/tokens/request_rules.ts'
import type { Client } from '../records/client.ts'
import type { SingleUse } from '../records/single_use.ts'
import type { User } from '../records/user.ts'
import { answerClient } from './client_request.ts'
import { REQUESTS_PATH } from './pages/urls.ts'
import { sentFrom } from './session.ts'

/** Open requests of a client to one person, and requests that the person denied within an hour: more would wear out, and not ask. */
const BOUNDS = { open: 10, denied: 5, within: HOUR }
/** `requested_expiry`, in seconds. */
const [LEAST_EXPIRY, MOST_EXPIRY] = [10, 24 * HOUR]
const MAX_NOTIFICATION_TOKEN = 1024
/** The syntax of a bearer token (RFC 6750 §2.1). */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/-]+=*$/
/** Visible characters and spaces. Marks in a row are limited: more would cover the lines around them. */
const MESSAGE = /^(?!.*\p{M}{5})(?: |[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]){1,128}$/u

const refuse = (description: string, reason: Reason, code: ErrorCode = 'invalid_request') =>
  new OAuthError(code, description, { reason, status: 400 })

/** Answers a backchannel authentication request. */
export const authenticateByBackchannel = (app: App, request: Request): Promise<Reply> =>
  answerClient(app, request, parseForm(request), ciba, startApproval)

async function startApproval(app: App, _grant: Grant, input: GrantInput, uses: readonly SingleUse[]) {
  const { request, form, client, proof } = input
  if (form.request !== undefined)
    throw refuse('signed requests are not supported', 'request_object', 'request_not_supported')
  const binding_message = parseMessage(form)
  const expires_in = parseExpiry(app, form)
  const notification_token = parseNotificationToken(form, client)
  const acr_values = parseClasses(form.acr_values)
  // Without a session: whether any sign-in could satisfy the request.
  dueSignIn(app, { prompt: [], authentication: { acr_values } }, undefined, undefined)
  const asked = storedAsked(await askedGrant(app, form, client, ELSEWHERE))
  const { user, hint } = await parseHint(app, form, client)
  const id = newId()
  const auth_req_id = newAuthReqId(app, id)
  const now = app.clock.now()
  const interval = Math.ceil(app.config.ciba.interval)
  const approval = {
    user_id: user?.status === 'active' ? user.id : undefined,
    person: personOfHint(app, user, hint),
    binding_message,
    acr_values: acr_values.join(' ') || undefined,
    notification: notification_token && (await sealerFor(auth_req_id.value).seal({ token: notification_token })),
  }
  const polled = {
    id,
    hash: auth_req_id.hash,
    user_code_hash: auth_req_id.hash,
    client_id: client.client_id,
    ...asked,
    dpop_jkt: proof?.jkt,
    ...sentFrom(request),
    wait: interval,
    approval,
    created_at: now,
    expires_at: now + expires_in,
  }
  const { detail, ...about } = eventOf(polled)
  const event = newAuditEvent(app, {
    action: 'approval_requested',
    actor_id: client.client_id,
    ...sentBy(request),
    ...about,
    detail: { ...detail, link: app.config.server.issuer + REQUESTS_PATH },
  })
  const wait = await app.store.recorded('createApproval', { ...polled, uses, bounds: BOUNDS }, event)
  checkWait(wait, 'the client has asked this person too often', 'approvals_too_many')
  return { auth_req_id: auth_req_id.value, expires_in, interval }
}

function parseMessage({ binding_message }: Params): string | undefined {
  if (binding_message === undefined || (MESSAGE.test(binding_message) && !isBlank(binding_message)))
    return binding_message
  throw refuse(
    'binding_message must have 1 to 128 visible characters',
    'bad_binding_message',
    'invalid_binding_message',
  )
}

function parseExpiry({ config }: App, { requested_expiry }: Params): number {
  if (requested_expiry === undefined) return Math.ceil(config.ciba.expiry)
  const seconds = /^\d{1,5}$/.test(requested_expiry) ? Number(requested_expiry) : 0
  if (seconds >= LEAST_EXPIRY && seconds <= MOST_EXPIRY) return seconds
  throw refuse(`requested_expiry must be ${LEAST_EXPIRY} to ${MOST_EXPIRY} seconds`, 'bad_requested_expiry')
}

/** The token with which a client that is notified recognises the service. Undefined for a client that only polls. */
function parseNotificationToken({ client_notification_token: token = '' }: Params, client: Client): string | undefined {
  if (client.backchannel_token_delivery_mode !== 'ping') return undefined
  if (token.length <= MAX_NOTIFICATION_TOKEN && BEARER_TOKEN.test(token)) return token
  throw refuse(
    `client_notification_token must be a bearer token of at most ${MAX_NOTIFICATION_TOKEN} characters`,
    'bad_client_notification_token',
  )
}

/** Whom the client asks: the person, if there is one, and the hint. Throws invalid_request for a hint that is none. */
async function parseHint(
  app: App,
  { login_hint, id_token_hint, login_hint_token }: Params,
  { client_id }: Client,
): Promise<{ user?: User; hint: string }> {
  if (login_hint_token !== undefined) throw refuse('login_hint_token is not supported', 'login_hint_token')
  if ((login_hint ? 1 : 0) + (id_token_hint ? 1 : 0) !== 1)
    throw refuse('one of login_hint and id_token_hint is required', 'missing_login_hint')
  if (login_hint) return { user: await findHinted(app, login_hint), hint: login_hint }
  const hinted = await verifyIdTokenHint(app, id_token_hint ?? '')
  if (hinted?.client_id !== client_id)
    throw refuse('id_token_hint is not an ID token of this client', 'bad_id_token_hint')
  return { user: await app.store.findUser({ id: hinted.sub }), hint: hinted.sub }
}

/** The user with an id, or with a verified email. */
async function findHinted({ store }: App, hint: string): Promise<User | undefined> {
  if (isUserId(hint)) return store.findUser({ id: hint })
  const user = await store.findUserByEmail({ email: hint })
  return user?.email_verified ? user : undefined
}
