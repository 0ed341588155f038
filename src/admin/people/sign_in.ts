// Sign-in to the admin page: of people at an upstream provider, of local users with a passkey, and with an API key, which the page exchanges for
// a cookie once.
import type { App } from '../../context.ts'
import { htmlReply, json, NO_STORE, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import type { Route } from '../../http/route.ts'
import { OAuthError } from '../../lib/error.ts'
import { html } from '../../lib/html.ts'
import { digest, newId } from '../../lib/id.ts'
import { audit, sentBy } from '../../oauth/audit.ts'
import { providerNamed } from '../../oauth/federation/oidc_providers.ts'
import {
  finishUpstreamSignIn,
  type SignInPlace,
  startUpstreamSignIn,
  type UpstreamSignIn,
} from '../../oauth/federation/upstream_sign_in.ts'
import { ADMIN_ENTRY_PATH, adminEntry, openAdminCode } from '../../oauth/sign_in/admin_entry.ts'
import { browserKey } from '../../oauth/sign_in/pending_login.ts'
import { isLocalAdmin } from '../../oauth/tokens/admin_resource.ts'
import type { Gatekeeper, Operator } from '../gatekeeper.ts'
import {
  adminIdentityOf,
  adminProviders,
  callbackUrl,
  capabilityOfPerson,
  localIdentityOf,
  PAGE_PATH,
  SIGN_IN_PATH,
  startUrl,
} from './people.ts'
import {
  ADMIN_SESSION_SECONDS,
  endAdminSession,
  findAdminPageSession,
  isSecurePage,
  startAdminSession,
  startWallSession,
} from './session.ts'

const SESSION_PATH = '/admin/ui/session'

/** The routes of the sign-in to the admin page. Only the page uses them. */
export function signInRoutes(app: App, { guard, operatorOf, operatorOfSession }: Gatekeeper): Route[] {
  const showSession = async (request: Request): Promise<Reply> => {
    const found = await findAdminPageSession(app, request)
    return json(200, { operator: shown(found && operatorOfSession(found)), providers: shownProviders(app) }, NO_STORE)
  }
  const guarded = (method: 'POST' | 'DELETE', path: string, handle: typeof signOut): Route => ({
    method,
    path,
    guard: guard('viewer'),
    handle: (request) => handle(app, request, operatorOf(request)),
  })
  return [
    { method: 'GET', path: SESSION_PATH, handle: showSession },
    guarded('POST', SESSION_PATH, enterWithKey),
    guarded('POST', `${SESSION_PATH}/wall`, startWall),
    guarded('DELETE', SESSION_PATH, signOut),
    ...(app.config.admin.sign_in.local ? localRoutes(app) : []),
    ...(app.config.admin.sign_in.enabled ? providerRoutes(app) : []),
  ]
}

const LOCAL_PATH = `${SIGN_IN_PATH}/local`
/** A step of a sign-in, which a navigation of the browser takes. */
const step = (path: string, handle: Route['handle']): Route => ({
  method: 'GET',
  path,
  handle,
  hasEffects: true,
  renderError,
})
const localRoutes = (app: App): Route[] => [
  step(`${LOCAL_PATH}/start`, (request) => startLocal(app, request, adminSignIn(app))),
  step(`${LOCAL_PATH}/callback`, (request) => finishLocal(app, request, adminSignIn(app))),
]

const providerRoutes = (app: App): Route[] =>
  ['', '/{provider}'].flatMap((suffix): Route[] => [
    step(`${SIGN_IN_PATH}/start${suffix}`, (request) => start(app, request)),
    step(`${SIGN_IN_PATH}/callback${suffix}`, (request) => finish(app, request)),
  ])

/** What the page shows of the operator. */
const shown = (operator: Operator | undefined) =>
  operator && {
    actor_id: operator.actor_id,
    capability: operator.capability,
    ...(operator.session?.isWall ? { wall: true } : {}),
  }

/** The links of the sign-in page. They have the configured address, which the provider returns the browser to. */
function shownProviders(app: App) {
  const { local, url } = app.config.admin.sign_in
  return [
    ...(local ? [{ name: 'a passkey', url: new URL(`${LOCAL_PATH}/start`, url).href }] : []),
    ...adminProviders(app).map(({ slug, settings }) => ({
      name: settings.display_name || new URL(settings.issuer).host,
      url: startUrl(app, slug),
    })),
  ]
}

/** Starts a session for the holder of a key. */
async function enterWithKey(app: App, request: Request, operator: Operator): Promise<Reply> {
  const isSecure = isSecurePage(request)
  if (!operator.key || isSecure === undefined)
    throw new OAuthError('invalid_request', 'this exchanges an admin API key for a session of the admin page', {
      reason: 'not_the_admin_page',
    })
  const cookie = await startAdminSession(app, operator.key, isSecure)
  await audit(app, { action: 'admin_ui_login', actor_id: operator.actor_id, ...sentBy(request), detail: {} })
  return json(200, { operator: shown(operator) }, { ...NO_STORE, 'set-cookie': cookie })
}

const noSession = () => new OAuthError('invalid_request', 'this request has no session', { reason: 'no_session' })

/** Makes the session of the browser one of a wall view. One of a wall view stays as it is: otherwise it would never end. */
async function startWall(app: App, request: Request, { actor_id, session }: Operator): Promise<Reply> {
  if (!session || session.isWall) throw noSession()
  const cookie = await startWallSession(app, request, session)
  const { user_id } = session.session
  await audit(app, { action: 'admin_ui_login', actor_id, ...sentBy(request), detail: user_id ? { user_id } : {} })
  const operator = { actor_id, capability: 'viewer', wall: true }
  return json(200, { operator }, { ...NO_STORE, 'set-cookie': cookie })
}

/** Ends the session of the browser. */
async function signOut(app: App, request: Request, { actor_id, session }: Operator): Promise<Reply> {
  if (!session) throw noSession()
  const cookie = await endAdminSession(app, request, session)
  const { user_id } = session.session
  await audit(app, { action: 'admin_ui_logout', actor_id, ...sentBy(request), detail: user_id ? { user_id } : {} })
  return { status: 204, headers: { ...NO_STORE, 'set-cookie': cookie }, body: '' }
}

const isSecureOf = ({ config }: App): boolean => config.admin.sign_in.url.startsWith('https:')

/** The sign-in of people. Its cookies are sent with the return from the provider, which is a navigation from another site. */
function adminSignIn(app: App): SignInPlace {
  const isSecure = isSecureOf(app)
  const [prefix, path] = isSecure ? ['__Host-', '/'] : ['', SIGN_IN_PATH]
  const write = (name: string, value: string, maxAge: number) =>
    `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    cookies: { prefix: `${prefix}service_admin_oidc_`, write },
    browserOf: (request) => browserKey(request, `${prefix}service_admin_browser`, write),
    redirectUri: ({ slug }) => callbackUrl(app, slug),
    failed: 'admin_ui_login_failed',
    enter: (request, signedIn, cookie) => enterAsPerson(app, request, signedIn, { isSecure, cookie }),
  }
}

function providerOf(app: App, request: Request) {
  const provider = providerNamed(app, request.params['provider'])
  if (!adminProviders(app).includes(provider)) throw new OAuthError('not_found', 'there is no such page')
  return provider
}
const start = (app: App, request: Request): Promise<Reply> =>
  startUpstreamSignIn(app, request, adminSignIn(app), providerOf(app, request), {
    target: PAGE_PATH,
    reauthenticate: false,
  })
const finish = (app: App, request: Request): Promise<Reply> =>
  finishUpstreamSignIn(app, request, adminSignIn(app), providerOf(app, request))

/** Starts the session of a person whose groups give a capability. */
async function enterAsPerson(
  app: App,
  request: Request,
  { provider, identity: upstream, login, user }: UpstreamSignIn,
  { isSecure, cookie }: { isSecure: boolean; cookie: string },
): Promise<Reply> {
  const identity = adminIdentityOf(provider, user)
  if (!capabilityOfPerson(app, identity, user))
    throw new OAuthError('access_denied', 'none of your groups may use the admin page', {
      reason: 'admin_no_capability',
      about: { user_id: user.id, found: user.provider_groups.join(' ') || 'no groups' },
    })
  const started = await startAdminSession(app, { user_id: user.id, identity }, isSecure)
  await saveUpstreamSid(app, user.id, upstream.issuer, upstream.claims['sid'])
  const detail = { provider: provider.slug, user_id: user.id }
  await audit(app, { action: 'admin_ui_login', actor_id: identity.actor_id, ...sentBy(request), detail })
  return redirect(login.target, { 'set-cookie': [started, cookie] })
}

/** Sends the browser to the sign-in with a passkey, which belongs to the host of the issuer. The browser brings back a code that only it can use, once. */
async function startLocal(app: App, request: Request, { browserOf }: SignInPlace): Promise<Reply> {
  const { key, cookie } = browserOf(request)
  const query = new URLSearchParams({ request: await adminEntry(app, digest(key)) })
  return redirect(`${app.config.server.issuer}${ADMIN_ENTRY_PATH}?${query}`, { 'set-cookie': cookie })
}

/** Starts the session of the person whom a code names. Throws access_denied. */
async function finishLocal(app: App, request: Request, { browserOf }: SignInPlace): Promise<Reply> {
  const { code = '' } = parseParams(request.query)
  const user_id = await openAdminCode(app, digest(browserOf(request).key), code)
  const user = user_id === undefined ? undefined : await app.store.findUser({ id: user_id })
  if (!user || !isLocalAdmin(app, user))
    throw new OAuthError('access_denied', 'this sign-in has expired, was used, or is not of an admin', {
      reason: 'admin_local_sign_in',
    })
  const identity = localIdentityOf(user)
  const cookie = await startAdminSession(app, { user_id: user.id, identity }, isSecureOf(app))
  const detail = { user_id: user.id }
  await audit(app, { action: 'admin_ui_login', actor_id: identity.actor_id, ...sentBy(request), detail })
  return redirect(PAGE_PATH, { 'set-cookie': cookie })
}

const MAX_SID = 255
/** Records the session at the provider, because a logout token may name only the session. */
async function saveUpstreamSid(app: App, user_id: string, issuer: string, sid: unknown): Promise<void> {
  if (typeof sid !== 'string' || sid.length > MAX_SID) return
  const expires_at = app.clock.now() + ADMIN_SESSION_SECONDS
  await app.store.saveFederatedSession({ id: newId(), issuer, sid, user_id, expires_at })
}

/** The page that is shown when a sign-in failed. */
function renderError({ status, message, more: { headers } }: OAuthError, { id }: Request): Reply {
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The sign-in failed · Admin</title>
<h1>The sign-in failed</h1>
<p>${message[0]?.toUpperCase()}${message.slice(1)}.</p>
<p>Request <code>${id}</code></p>
<p><a href="${PAGE_PATH}">Back to the admin page</a></p>
</html>
`
  return htmlReply(status, page.text, headers)
}
