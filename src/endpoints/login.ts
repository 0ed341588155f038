// GET and POST /login, POST /logout: sign-in with a local password, and the link to the upstream provider.
import { DEFAULT_PROVIDER } from '../config/oidc_keys.ts'
import type { App, OidcProvider } from '../context.ts'
import { MAX_PASSWORD_BYTES } from '../crypto/pool.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, isolated, type Markup } from '../lib/html.ts'
import { audit, newAuditEvent, sentBy } from '../oauth/audit.ts'
import type { DetailOf } from '../oauth/audit_events.ts'
import { allowsPasswords } from '../oauth/local_login.ts'
import { accountName, type User } from '../records/user.ts'
import { messagesOf } from './language.ts'
import { beginLogin, delayLogin, endLogin, type LoginResult, loginAttempt } from './login_limit.ts'
import { en, type Messages } from './messages/en.ts'
import { isForeign } from './origin.ts'
import { errorPage, page } from './pages.ts'
import { endSession, findSignedIn, isLoginToken, loginToken, startSession } from './session.ts'
import { ACCOUNT_PATH, basePath, safeRedirect } from './urls.ts'

const MAX_EMAIL = 320

/** The login page. `redirect` is the local path to return to; `prompt=login` is passed on to the upstream provider. */
export async function showLogin(app: App, request: Request): Promise<Reply> {
  const { redirect, prompt, login_hint, acr_values } = parseParams(request.query)
  const user = (await findSignedIn(app, request))?.user
  return loginPage(app, request, redirect, { user, reauthenticate: prompt === 'login', login_hint, acr_values })
}

interface Problem {
  result: 'invalid' | 'locked_out' | 'failure'
  status: number
  /** The email that was entered, so that the user only has to enter the password again. */
  email?: string
  headers?: Record<string, string>
}
interface LoginPage {
  problem?: Problem
  /** The user who is signed in already. */
  user?: User
  /** The upstream provider must ask the user to sign in again. */
  reauthenticate?: boolean
  /** What the application says about the account and the sign-in. */
  login_hint?: string
  acr_values?: string
}

function loginPage(
  app: App,
  request: Request,
  target: string | undefined,
  { problem, user, ...wanted }: LoginPage,
): Reply {
  const messages = messagesOf(request, target)
  const { login: t } = messages
  const form = allowsPasswords(app) ? loginForm(app, request, t, target, { problem, ...wanted }) : undefined
  const text = problem && t[problem.result]
  const links = app.oidc.map((provider, i) =>
    upstreamLink(app, provider, t, target, { ...wanted, main: !form && i === 0 }),
  )
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
<p class="soft">${t.lead(isolated(app.branding.name))}</p>
${user && html`<p class="note">${messages.signedInAs(isolated(accountName(user)))} · <a href="${basePath(app)}${ACCOUNT_PATH}">${messages.account.title}</a></p>`}
${text && html`<p class="note bad" role="alert" id="problem">${text}</p>`}
${form?.body}${form && app.oidc.length > 0 && html`\n<p class="or soft">${t.or}</p>\n`}${links}`,
    { status: problem?.status, headers: { ...problem?.headers, ...(form ? { 'set-cookie': form.cookie } : {}) } },
  )
}

function loginForm(
  app: App,
  request: Request,
  t: Messages['login'],
  target: string | undefined,
  { problem, login_hint }: LoginPage,
) {
  const { token, cookie } = loginToken(app, request)
  const email = problem ? problem.email : login_hint?.slice(0, MAX_EMAIL)
  const described = problem && html` aria-describedby="problem"`
  const body = html`<form method="post" action="${basePath(app)}/login">
<input type="hidden" name="csrf_token" value="${token}">
<input type="hidden" name="redirect" value="${target}">
<label for="email">${t.email}</label>
<input type="email" id="email" name="email" autocomplete="username" required maxlength="${MAX_EMAIL}" value="${email}"${!email && html` autofocus`}${described}>
<label for="password">${t.password}</label>
<input type="password" id="password" name="password" autocomplete="current-password" required${email && html` autofocus`}${described}>
<button class="main wide">${t.submit}</button>
</form>`
  return { body, cookie }
}

/** The link to an upstream provider, below the password form. Without a password form the first link is the `main` button. */
function upstreamLink(
  app: App,
  { slug, settings }: OidcProvider,
  t: Messages['login'],
  target: string | undefined,
  { reauthenticate, login_hint, acr_values, main }: LoginPage & { main: boolean },
): Markup {
  const { display_name, issuer } = settings
  const query = new URLSearchParams({
    ...(target ? { redirect: target } : {}),
    ...(reauthenticate ? { prompt: 'login' } : {}),
    ...(login_hint ? { login_hint } : {}),
    ...(acr_values ? { acr_values } : {}),
  })
  const path = slug === DEFAULT_PROVIDER ? '/oidc/start' : `/oidc/start/${slug}`
  return html`<a class="button wide${main && ' main'}" href="${basePath(app)}${path}?${query.toString()}">${t.continueWith(isolated(display_name || new URL(issuer).host))}</a>`
}

/** Signs a user in. Every wrong credential has the same response after the same work, so that it does not reveal which accounts exist. */
export async function login(app: App, request: Request): Promise<Reply> {
  if (!allowsPasswords(app)) throw new OAuthError('not_found', 'sign-in with a password is disabled')
  const form = readForm(request)
  const refuse = (problem: Problem) => {
    const { result } = problem
    app.metrics.count('core_login_attempts_total', { result })
    request.notes.refusal = new OAuthError('access_denied', en.login[result], {
      reason: `login_${result}`,
      status: problem.status,
    })
    return loginPage(app, request, form?.redirect, { problem })
  }
  if (!form || isForeign(app, request) || !isLoginToken(app, request, form.csrf_token))
    return refuse({ result: 'invalid', status: 422 })
  return attemptLogin(app, request, form, refuse)
}

/** Verifies the credentials of a form within the limits of failed logins. */
async function attemptLogin(
  app: App,
  request: Request,
  form: Params,
  refuse: (problem: Problem) => Reply,
): Promise<Reply> {
  const refuseFor = (seconds: number) =>
    refuse({
      result: 'locked_out',
      status: 429,
      email: form.email,
      headers: { 'retry-after': String(seconds) },
    })
  const email = form.email?.trim() ?? ''
  const attempt = loginAttempt(app, request.remote, email.length > MAX_EMAIL ? undefined : email)
  const wait = await beginLogin(app, attempt)
  if (wait > 0) return refuseFor(wait)

  let result: LoginResult = 'undecided'
  let named: User | undefined
  try {
    const delay = await delayLogin(app, attempt)
    if (delay > 0) return refuseFor(delay)
    const { user, right } = await verifyCredentials(app, email, form.password)
    named = user
    result = right ? 'success' : 'failure'
    if (!user || !right) {
      await record(app, request, 'user_login_failed', { user_id: user?.id })
      return refuse({ result: 'failure', status: 422, email: form.email })
    }
    const target = safeRedirect(app, form.redirect)
    const event = newAuditEvent(app, { action: 'user_login', actor_id: user.id, ...sentBy(request) })
    const cookie = await startSession(app, request, { user_id: user.id, target, event })
    app.metrics.count('core_login_attempts_total', { result: 'success' })
    return redirect(target, { 'set-cookie': cookie })
  } finally {
    const began = await endLogin(app, attempt, result, named?.id)
    if (began.address) await record(app, request, 'auth_locked_out')
    // Also for an email without an account: the response must not reveal by its time whether the account exists.
    if (began.account) await record(app, request, 'account_throttled', { user_id: named?.id })
  }
}

/** The submitted form; undefined when it is malformed. */
function readForm(request: Request): Params | undefined {
  try {
    return parseForm(request)
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}

/** The user with an email, if there is one, and whether the password signs the user in. */
async function verifyCredentials(app: App, email: string, password = ''): Promise<{ user?: User; right: boolean }> {
  if (email.length > MAX_EMAIL || Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return { right: false }
  const user = email === '' ? undefined : await app.store.findUserByEmail({ email })
  const { right, rehashed } = await app.crypto.verifyPassword(password, user?.password_hash)
  if (user?.provider !== 'local' || !user.password_hash || !right || user.status !== 'active')
    return { user, right: false }
  if (rehashed) await app.store.rehashPassword({ id: user.id, from: user.password_hash, to: rehashed })
  return { user, right: true }
}

const record = <A extends 'user_login_failed' | 'auth_locked_out' | 'account_throttled'>(
  app: App,
  request: Request,
  action: A,
  detail?: DetailOf<A>,
) => audit(app, { action, actor_id: '', detail, ...sentBy(request) })

/** Signs the user out: ends the session of the browser. */
export async function logout(app: App, request: Request): Promise<Reply> {
  if (isForeign(app, request)) {
    const t = messagesOf(request)
    const options = { title: t.start.notSignedOut, text: t.errors.texts.cross_site, status: 403 }
    return errorPage(app, t, request.id, options)
  }
  const signedIn = await findSignedIn(app, request)
  const cookies = await endSession(app, request, signedIn)
  return redirect(`${basePath(app)}/login`, { 'set-cookie': cookies })
}

/** The start page leads to the account page. */
export const showStart = (app: App): Reply => redirect(basePath(app) + ACCOUNT_PATH)
