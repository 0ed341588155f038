// GET and POST /login, POST /logout: sign-in with a local password, and the link to the upstream provider.
import { DEFAULT_PROVIDER } from '../../config/oidc_keys.ts'
import { isLink } from '../../config/ui_keys.ts'
import type { App, OidcProvider } from '../../context.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { audit, newAuditEvent, sentBy } from '../../oauth/audit.ts'
import type { DetailOf } from '../../oauth/audit_events.ts'
import { allowsPasswords } from '../../oauth/sign_in/local_login.ts'
import { signedInByPasskey } from '../../oauth/sign_in/passkey.ts'
import type { BrowserKey } from '../../oauth/sign_in/pending_login.ts'
import { WITH_PASSKEY } from '../../oauth/sign_in/second_factor.ts'
import type { Proven } from '../../records/sign_in.ts'
import { accountName, type User } from '../../records/user.ts'
import { en, type Messages } from '../messages/en.ts'
import { hasCookies, isForeign } from '../origin.ts'
import { askingApplication } from '../pages/asking_application.ts'
import { messagesOf, waitIn } from '../pages/language.ts'
import { codeField, passkeyForm } from '../pages/login_factor.ts'
import { errorPage, page } from '../pages/pages.ts'
import { secretField } from '../pages/secret_field.ts'
import { signedOutPage } from '../pages/signed_out.ts'
import { ACCOUNT_PATH, basePath, pathAndQuery, readTarget, safeRedirect } from '../pages/urls.ts'
import { browserOf, endSession, findSignedIn, isOwnLogin, loginToken, startSession } from '../session.ts'
import { wantedBy } from '../wanted_sign_in.ts'
import { limitedLogin, loginAttempt } from './login_limit.ts'
import { MAX_EMAIL, proveLogin } from './login_proof.ts'

/**
 * The login page. `redirect` is the local path to return to; `prompt=login` is passed on to the upstream provider. The hint of an authorization
 * request is read from that path.
 */
export async function showLogin(app: App, request: Request): Promise<Reply> {
  const { redirect, prompt, login_hint } = parseParams(request.query)
  const user = (await findSignedIn(app, request))?.user
  return loginPage(app, request, redirect, { user, reauthenticate: prompt === 'login', login_hint })
}

interface Problem {
  result: 'invalid' | 'no_cookies' | 'locked_out' | 'failure' | 'passkeyFailed'
  status: number
  /** The email that was entered, so that the user only has to enter the password again. */
  email?: string
  /** How long to wait, in seconds. */
  wait?: number
  /** Whether the password was right, as the next form sends it back. */
  checked?: string
}
function problemText(messages: Messages, { result, wait = 0 }: Problem): string {
  const { login, errors } = messages
  if (result === 'no_cookies') return errors.texts.no_cookies
  return result === 'locked_out' ? login.locked_out(waitIn(messages, wait)) : login[result]
}

interface LoginPage {
  problem?: Problem
  /** The user who is signed in already. */
  user?: User
  /** The upstream provider must ask the user to sign in again. */
  reauthenticate?: boolean
  /** The email to fill in. */
  login_hint?: string
}

/** What the page passes on with every form and link. */
interface WayOn {
  redirect: string | undefined
  reauthenticate: boolean | undefined
}
const queryOn = ({ redirect, reauthenticate }: WayOn): string =>
  new URLSearchParams({
    ...(redirect ? { redirect } : {}),
    ...(reauthenticate ? { prompt: 'login' } : {}),
  }).toString()

/** `redirect` is passed on as it was sent: the text of a long target is stored. */
async function loginPage(
  app: App,
  request: Request,
  redirect: string | undefined,
  { problem, user, reauthenticate, login_hint }: LoginPage,
): Promise<Reply> {
  const target = await readTarget(app, redirect)
  const named = login_hint ?? (await wantedBy(app, safeRedirect(app, target))).login_hint
  const on = { redirect, reauthenticate }
  const messages = messagesOf(request, target)
  const { login: t } = messages
  const application = await askingApplication(app, target)
  const lead = application ? t.asked(application, isolated(app.branding.name)) : t.lead(isolated(app.branding.name))
  const browser = browserOf(app, request)
  const form = allowsPasswords(app) && loginForm(app, browser, messages, on, { problem, login_hint: named })
  const text = problem && problemText(messages, problem)
  const passkey = form && passkeyForm(app, browser, messages, on)
  const links = app.oidc.map((provider, i) => upstreamLink(app, provider, t, on, !form && i === 0))
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
<p class="soft">${lead}</p>
${user && html`<p class="note">${messages.signedInAs(isolated(accountName(user)))} · <a href="${basePath(app)}${ACCOUNT_PATH}">${messages.account.title}</a></p>`}
${text && html`<p class="note bad" role="alert" id="problem">${text}</p>`}
${form}${passkey}${form && app.oidc.length > 0 && html`\n<p class="or soft">${t.or}</p>\n`}${links}`,
    {
      status: problem?.status,
      headers: { ...(problem?.wait ? { 'retry-after': String(problem.wait) } : {}), 'set-cookie': browser.cookie },
      scripts: form !== false,
      waiting: request.notes.waiting,
      place: problem ? `/login?${queryOn(on)}` : pathAndQuery(request),
    },
  )
}

/** Browsers refuse letters outside of ASCII in the email: the server checks the form. */
function loginForm(
  app: App,
  browser: BrowserKey,
  messages: Messages,
  { redirect, reauthenticate }: WayOn,
  { problem, login_hint }: LoginPage,
): Markup {
  const { login: t } = messages
  const checked = problem?.checked
  const email = problem ? problem.email : login_hint?.slice(0, MAX_EMAIL)
  const described = problem && html` aria-describedby="problem"`
  return html`<form method="post" action="${basePath(app)}/login" novalidate>
<input type="hidden" name="csrf_token" value="${loginToken(app, browser)}">
<input type="hidden" name="redirect" value="${redirect}">${reauthenticate && html`\n<input type="hidden" name="prompt" value="login">`}
<label for="email">${t.email}</label>
<input type="email" autocapitalize="none" spellcheck="false" id="email" name="email" autocomplete="${app.config.webauthn.enabled ? 'username webauthn' : 'username'}" required maxlength="${MAX_EMAIL}" value="${email}"${!email && html` autofocus`}${described}>
${secretField(messages, { name: 'password', label: t.password, autocomplete: 'current-password', required: !checked, more: html`${email && !checked && html` autofocus`}${described}` })}${checked && codeField(messages, checked)}<button class="main wide">${t.submit}</button>
</form>
${passwordHelp(app, t)}`
}

/** What a user does who forgot the password: a link, or a text that opens. */
function passwordHelp({ config: { ui } }: App, { forgot, forgotText }: Messages['login']): Markup {
  const help = ui.password_help
  return isLink(help)
    ? html`<p class="after"><a href="${help}">${forgot}</a></p>`
    : html`<details class="after"><summary>${forgot}</summary><p class="soft">${help || forgotText}</p></details>`
}

/** The link to an upstream provider, below the password form. Without a password form the first link is the `main` button. */
function upstreamLink(
  app: App,
  { slug, settings }: OidcProvider,
  t: Messages['login'],
  on: WayOn,
  main: boolean,
): Markup {
  const { display_name, issuer } = settings
  const path = slug === DEFAULT_PROVIDER ? '/oidc/start' : `/oidc/start/${slug}`
  return html`<a class="button wide${main && ' main'}" href="${basePath(app)}${path}?${queryOn(on)}">${t.continueWith(isolated(display_name || new URL(issuer).host))}</a>`
}

/** Signs a user in. Every wrong credential has the same response after the same work, so that it does not reveal which accounts exist. */
export async function login(app: App, request: Request): Promise<Reply> {
  if (!allowsPasswords(app)) throw new OAuthError('not_found', 'sign-in with a password is disabled')
  const form = readForm(request)
  const refuse = (problem: Problem) => {
    const { result } = problem
    app.metrics.count('core_login_attempts_total', { result })
    request.notes.refusal = new OAuthError('access_denied', problemText(en, problem), {
      reason: `login_${result}`,
      status: problem.status,
    })
    return loginPage(app, request, form?.redirect, { problem, reauthenticate: form?.prompt === 'login' })
  }
  if (!form || isForeign(app, request) || !isOwnLogin(app, request, form.csrf_token))
    return refuse({ result: hasCookies(request) ? 'invalid' : 'no_cookies', status: 422 })
  return form.passkey ? attemptPasskey(app, request, form, refuse) : attemptLogin(app, request, form, refuse)
}

type Refuse = (problem: Problem) => Promise<Reply>

/** Verifies the credentials of a form within the limits of failed logins. */
function attemptLogin(app: App, request: Request, form: Params, refuse: Refuse): Promise<Reply> {
  const { email: entered } = form
  const email = entered?.trim() ?? ''
  const refuseFor = (wait: number) => refuse({ result: 'locked_out', status: 429, email: entered, wait })
  return limitedLogin<Reply>(app, loginAttempt(app, request.remote, email.length > MAX_EMAIL ? undefined : email), {
    request,
    actor_id: '',
    refuse: refuseFor,
    async prove() {
      const { user, how, wait = 0, checked } = await proveLogin(app, request, form)
      const user_id = user?.id
      if (wait > 0) return { result: 'undecided', user_id, answer: () => refuseFor(wait) }
      if (user && how) return { result: 'success', user_id, answer: () => enter(app, request, form, user, how) }
      await recordFailure(app, request, { user_id })
      const problem = { result: 'failure', status: 422, email: entered, checked } as const
      return { result: 'failure', user_id, answer: () => refuse(problem) }
    },
  })
}

/** Starts the session of a user who has signed in. */
async function enter(app: App, request: Request, form: Params, user: User, how: Proven): Promise<Reply> {
  const target = safeRedirect(app, await readTarget(app, form.redirect))
  const event = newAuditEvent(app, { action: 'user_login', actor_id: user.id, ...sentBy(request) })
  const cookies = await startSession(app, request, { user_id: user.id, target, how, event })
  app.metrics.count('core_login_attempts_total', { result: 'success' })
  return redirect(target, { 'set-cookie': cookies })
}

/** Verifies the answer of a passkey. Wrong answers count as failed logins of their address. */
const attemptPasskey = (app: App, request: Request, form: Params, refuse: Refuse): Promise<Reply> =>
  limitedLogin<Reply>(app, loginAttempt(app, request.remote, undefined), {
    request,
    actor_id: '',
    refuse: (wait) => refuse({ result: 'locked_out', status: 429, wait }),
    async prove() {
      const user = await signedInByPasskey(app, browserOf(app, request).key, form.passkey ?? '')
      if (user) return { result: 'success', answer: () => enter(app, request, form, user, WITH_PASSKEY) }
      await recordFailure(app, request, {})
      return { result: 'failure', answer: () => refuse({ result: 'passkeyFailed', status: 422 }) }
    },
  })

/** The submitted form; undefined when it is malformed. */
function readForm(request: Request): Params | undefined {
  try {
    return parseForm(request)
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}

const recordFailure = (app: App, request: Request, detail: DetailOf<'user_login_failed'>): Promise<void> =>
  audit(app, { action: 'user_login_failed', actor_id: '', detail, ...sentBy(request) })

/** Signs the user out: ends the session of the browser. `then=page` is the logout that an application asked for, which ends at a page of its own. */
export async function logout(app: App, request: Request): Promise<Reply> {
  if (isForeign(app, request)) {
    const t = messagesOf(request)
    const options = { title: t.start.notSignedOut, text: t.errors.texts.cross_site, status: 403 }
    return errorPage(app, t, request, options)
  }
  const signedIn = await findSignedIn(app, request)
  const cookie = await endSession(app, request, signedIn)
  if (parseParams(request.query)['then'] === 'page')
    return signedOutPage(app, messagesOf(request), { 'set-cookie': cookie })
  return redirect(`${basePath(app)}/login`, { 'set-cookie': cookie })
}

/** The start page leads to the account page. */
export const showStart = (app: App): Reply => redirect(basePath(app) + ACCOUNT_PATH)
