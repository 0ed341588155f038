// GET and POST /second-factor: a local user adds and removes second factors. It also works in a session that lacks the factor that its user
// needs, and leads on to where the person came from.
import { randomBytes } from 'node:crypto'
import type { App } from '../../context.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { isId, newId } from '../../lib/id.ts'
import { newAuditEvent } from '../../oauth/audit.ts'
import type { AuditAction, DetailOf } from '../../oauth/audit_events.ts'
import { appUri, newAppFactor, newAppSecret, newRecoveryCodes, stepOfCode } from '../../oauth/sign_in/codes.ts'
import { newPasskey } from '../../oauth/sign_in/passkey.ts'
import { WITH_CODE, WITH_PASSKEY } from '../../oauth/sign_in/second_factor.ts'
import { hasTwoFactors, type Proven } from '../../records/sign_in.ts'
import type { Factor } from '../../records/user.ts'
import { accountName } from '../../records/user.ts'
import {
  addForms,
  appForm,
  codesShown,
  FACTOR_FORMS,
  type FactorPlace,
  MAX_FACTOR_NAME,
} from '../pages/factor_forms.ts'
import { messagesOf } from '../pages/language.ts'
import { page } from '../pages/pages.ts'
import { ACCOUNT_PATH, basePath, FACTOR_PATH, loginUrl, readTarget, safeRedirect } from '../pages/urls.ts'
import { actorOf, checkForm, findAnySession, lacksFactor, noteWaiting, type SignedIn } from '../session.ts'

/** Seconds after a sign-in in which factors can be changed. */
const RECENT_SECONDS = 600

interface FactorRequest extends FactorPlace {
  request: Request
  factors: readonly Factor[]
}

/** The page that adds a factor, and leads on to `redirect`. */
export async function showFactors(app: App, request: Request): Promise<Reply> {
  const place = await placeOf(app, request, parseParams(request.query).redirect)
  return mayManage(place) ? addPage(place) : signInAgain(place ?? { app, request })
}

/** A form of the page, or of the account page. */
export async function changeFactors(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const place = await placeOf(app, request, form.redirect)
  if (place) checkForm(app, request, place.signedIn, FACTOR_FORMS, form.csrf_token)
  if (!mayManage(place)) return signInAgain(place ?? { app, request, redirect: form.redirect })
  const act = ACTIONS[form.action ?? '']
  if (!act) throw new OAuthError('invalid_request', 'the form names no action', { reason: 'bad_form' })
  return act(place, form)
}

async function placeOf(app: App, request: Request, redirect: string | undefined): Promise<FactorRequest | undefined> {
  const found = await findAnySession(app, request)
  if (found?.user.provider !== 'local') return undefined
  const factors = await app.store.listFactors({ user_id: found.user.id })
  // A factor that was added meanwhile, by a form that was sent twice, was added together with its mark in the session.
  const isStale = factors.length > 0 && !hasTwoFactors(found.session)
  const signedIn = isStale ? await findAnySession(app, request) : found
  if (!signedIn) return undefined
  if (!lacksFactor(app, signedIn)) await noteWaiting(app, request, signedIn)
  return { app, request, signedIn, factors, redirect, messages: messagesOf(request) }
}

/** Whether factors may be changed in a session: its sign-in was recent, and with a factor if the user has one. */
const mayManage = (place: FactorRequest | undefined): place is FactorRequest =>
  place !== undefined && isRecent(place) && (place.factors.length === 0 || hasTwoFactors(place.signedIn.session))
const isRecent = ({ app, signedIn }: FactorRequest): boolean =>
  app.clock.now() - signedIn.session.created_at <= RECENT_SECONDS

/** To the sign-in page. It leads back here if the person was led here, otherwise to the account page. */
async function signInAgain({
  app,
  request,
  redirect: to,
}: Pick<FactorRequest, 'app' | 'request' | 'redirect'>): Promise<Reply> {
  const back = to === undefined ? ACCOUNT_PATH : `${FACTOR_PATH}?${new URLSearchParams({ redirect: to })}`
  return redirect(await loginUrl(app, request, back, true))
}

/** Where the person continues. */
const wayOn = async ({ app, redirect }: FactorRequest): Promise<string> =>
  redirect === undefined
    ? `${basePath(app)}${ACCOUNT_PATH}#second-factor`
    : safeRedirect(app, await readTarget(app, redirect))

async function addPage(place: FactorRequest, problem?: string): Promise<Reply> {
  const { app, messages, signedIn, factors } = place
  const { factor: t } = messages
  const isNeeded = lacksFactor(app, signedIn)
  return show(
    place,
    html`<h1>${t.heading}</h1>
<p class="soft">${messages.signedInAs(isolated(accountName(signedIn.user)))}</p>
<p class="note">${isNeeded ? t.needed : t.lead}</p>
${problem && html`<p class="note bad" role="alert">${problem}</p>`}
${addForms(place, factors)}
<p class="soft">${t.lost}</p>
<p class="after"><a href="${isNeeded ? await loginUrl(app, place.request, ACCOUNT_PATH, true) : await wayOn(place)}">${isNeeded ? messages.useAnotherAccount : messages.start.continue}</a></p>`,
    problem === undefined ? 200 : 422,
  )
}

const show = ({ app, request, messages }: FactorRequest, body: Markup, status = 200): Reply =>
  page(app, messages, messages.factor.heading, body, { status, scripts: true, waiting: request.notes.waiting })

/** What the forms do. */
const ACTIONS: Readonly<Record<string, (place: FactorRequest, form: Params) => Promise<Reply>>> = {
  async add_app(place) {
    const { app, signedIn } = place
    const started = { app_secret: newAppSecret(), factor_id: newId(), codes: randomBytes(16).toString('base64url') }
    const sealed = await app.sealer.seal({ ...started, user_id: signedIn.user.id, at: app.clock.now() })
    return confirmPage(place, started.app_secret, sealed, false)
  },

  async confirm_app(place, { app: sealed = '', code = '' }) {
    const { app, signedIn } = place
    const { id: user_id } = signedIn.user
    const started = await app.sealer.open(sealed)
    const { app_secret: secret, factor_id: id, codes: seed, user_id: of, at } = started ?? {}
    const isStarted = typeof secret === 'string' && typeof id === 'string' && typeof seed === 'string' && of === user_id
    if (!isStarted || typeof at !== 'number' || at + RECENT_SECONDS < app.clock.now())
      return addPage(place, place.messages.errors.texts.waiting_request_expired)
    const last_step = stepOfCode(secret, code, app.clock.now())
    if (last_step === undefined) return confirmPage(place, secret, sealed, true)
    return add(place, await newAppFactor(app, { id, user_id, name: '', secret, last_step }), WITH_CODE, seed)
  },

  async add_passkey(place, { passkey = '', name = '' }) {
    const { app, signedIn, messages } = place
    const { browser, user } = signedIn
    const about = { user, name: name.trim().slice(0, MAX_FACTOR_NAME), answer: passkey }
    const factor = browser === undefined ? undefined : await newPasskey(app, { browser, ...about })
    if (!factor) return addPage(place, passkey === '' ? messages.factor.noScript : messages.factor.passkeyFailed)
    return add(place, factor, WITH_PASSKEY)
  },

  async remove(place, { id = '' }) {
    const { app, signedIn } = place
    const removed = { user_id: signedIn.user.id, id }
    if (isId(id)) await app.store.recorded('removeFactor', removed, eventOf(place, 'factor_removed'))
    return redirect(await wayOn(place))
  },

  async recovery_codes(place) {
    const { app, signedIn } = place
    const { shown, hashes } = newRecoveryCodes(signedIn.user.id)
    const replaced = { user_id: signedIn.user.id, codes: hashes }
    const isDone = await app.store.recorded('replaceRecoveryCodes', replaced, eventOf(place, 'recovery_codes_replaced'))
    return isDone ? show(place, codesShown(place, shown, await wayOn(place))) : redirect(await wayOn(place))
  },
}

function confirmPage(place: FactorRequest, secret: string, sealed: string, isWrong: boolean): Reply {
  const { app, signedIn } = place
  const uri = appUri(secret, accountName(signedIn.user), app.branding.name)
  return show(place, appForm(place, { secret, uri, sealed, isWrong }), isWrong ? 422 : 200)
}

/** Adds a factor, which counts for this sign-in, and shows the recovery codes that come with the first one. */
async function add(place: FactorRequest, factor: Factor, proven: Proven, seed?: string): Promise<Reply> {
  const { app, signedIn, messages } = place
  const { shown, hashes } = newRecoveryCodes(factor.user_id, seed)
  const session = { id: signedIn.session.id, ...withFactor(signedIn, proven) }
  const event = eventOf(place, 'factor_added', { kind: factor.kind })
  const added = await app.store.recorded('addFactor', { factor, codes: hashes, session }, event)
  // A form that was sent twice: the page of the first answer, with the codes, was never shown.
  const [only, ...others] = added ? [] : await app.store.listFactors(factor)
  const isRepeated = only?.id === factor.id && others.length === 0
  if (added?.first || isRepeated) return show(place, codesShown(place, shown, await wayOn(place)))
  return added ? redirect(await wayOn(place)) : addPage(place, messages.factor.tooMany)
}

/** How the user of a session has signed in, once a factor was added in it. */
function withFactor({ session }: SignedIn, { amr = [], acr }: Proven): Proven {
  if (acr === session.acr || session.acr === 'phr') return { amr: session.amr, acr: session.acr }
  return { amr: [...new Set([...(session.amr ?? ['pwd']), ...amr])], acr }
}

const eventOf = <A extends AuditAction>({ app, request, signedIn }: FactorRequest, action: A, detail?: DetailOf<A>) =>
  newAuditEvent(app, { ...actorOf(request, signedIn), action, detail })
