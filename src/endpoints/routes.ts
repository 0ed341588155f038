// The table of the routes of the public listener.
import type { App } from '../context.ts'
import { deviceCode } from '../grants/device_code.ts'
import type { Reply, Request } from '../http/message.ts'
import type { Method, Route } from '../http/route.ts'
import type { OAuthError } from '../lib/error.ts'
import { PATHS } from '../oauth/metadata.ts'
import { ADMIN_ENTRY_PATH } from '../oauth/sign_in/admin_entry.ts'
import { PASSWORD_PATH } from '../oauth/sign_in/password_link.ts'
import { showAccount, submitAccount } from './account/page.ts'
import { decideRequest, showRequests } from './account/requests.ts'
import { authorize, authorizeByForm, renderAuthorizeError } from './authorize.ts'
import { authenticateByBackchannel } from './backchannel_authentication.ts'
import { backchannelLogout } from './backchannel_logout.ts'
import { connectCallback, startConnect, submitConnect } from './connect.ts'
import { deleteConnection, showConnections } from './connections.ts'
import { decideConsent, showConsent } from './consent.ts'
import { enterUserCode, showDevice } from './device.ts'
import { authorizeDevice } from './device_authorization.ts'
import { agentsDocument, jwks, resourceDocument, serverDocument } from './discovery.ts'
import { logoutByClient } from './end_session.ts'
import { health, livez, ready } from './health.ts'
import { introspect } from './introspect.ts'
import { finishOidc, startOidc } from './oidc.ts'
import { LOGO_PATH, SCRIPT_PATH, showLogo, showScript } from './pages/branding.ts'
import { chooseLanguage, LANGUAGE_PATH } from './pages/language_choice.ts'
import { ACCOUNT_PATH, basePath, FACTOR_PATH, REQUESTS_PATH } from './pages/urls.ts'
import { setPassword, showPasswordLink } from './password_link.ts'
import { pushAuthorizationRequest } from './pushed_request.ts'
import { register } from './register.ts'
import { revoke } from './revoke.ts'
import { enterAdmin } from './sign_in/admin_sign_in.ts'
import { login, logout, showLogin, showStart } from './sign_in/login.ts'
import { changeFactors, showFactors } from './sign_in/second_factor.ts'
import { streamRoutes } from './ssf_routes.ts'
import { token } from './token.ts'
import { userinfo } from './userinfo.ts'

const FORM = { type: 'form', limit: 64 * 1024 } as const
/** A logout token may be as long as an ID token. */
const LOGOUT_FORM = { type: 'form', limit: 256 * 1024 } as const
const JSON_BODY = { type: 'json', limit: 1024 * 1024 } as const
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'

type Handle = (app: App, request: Request) => Reply | Promise<Reply>
type Make = (path: string, handle: Handle, more?: Partial<Route>) => Route

/** Functions that make routes of one kind. */
function makersOf(app: App) {
  const make =
    (method: Method, given: Partial<Route> = {}): Make =>
    (path, handle, more) => ({ method, path, ...given, handle: (request) => handle(app, request), ...more })
  const renderError = (error: OAuthError, request: Request) => renderAuthorizeError(app, error, request)
  return {
    get: make('GET'),
    post: make('POST'),
    remove: make('DELETE'),
    /** A page for people. */
    page: make('GET', { renderError }),
    /** A form of such a page. */
    form: make('POST', { body: FORM, renderError }),
    /** An endpoint of clients, which verifies or signs. */
    client: make('POST', { body: FORM, cors: true, admission: app.admission }),
  }
}
type Makers = ReturnType<typeof makersOf>

/** The routes of the public listener. */
export function publicRoutes(app: App): Route[] {
  const { config } = app
  const makers = makersOf(app)
  const { get, post, remove, page, form, client } = makers
  const documented = { cors: true, step: 'resource_metadata' } as const
  return [
    ...metadataPaths(app).map((path) => get(path, serverDocument, { cors: true, step: 'metadata' })),
    get(PATHS.jwks, jwks, { cors: true }),
    get(RESOURCE_METADATA, resourceDocument, documented),
    get(`${RESOURCE_METADATA}/{ref...}`, resourceDocument, documented),

    ...(config.agents.enable_jwks_listing ? [get('/.well-known/agents.json', agentsDocument, { cors: true })] : []),

    page(PATHS.authorize, authorize, { hasEffects: true, step: 'authorize' }),
    client(PATHS.token, token, { step: 'token', hasJsonErrors: isOfDevice }),
    client(PATHS.par, pushAuthorizationRequest, { step: 'push' }),
    client(PATHS.introspect, introspect, { step: 'introspect' }),
    client(PATHS.revoke, revoke, { step: 'revoke' }),

    ...(config.device.enabled ? deviceRoutes(makers) : []),
    ...(config.ciba.enabled ? approvalRoutes(makers) : []),
    ...(config.oauth.openid ? openIdRoutes(app, makers) : []),

    post(PATHS.register, register, { body: JSON_BODY, cors: true, step: 'register' }),

    page('/', showStart),
    page('/login', showLogin),
    form('/login', login, { step: 'login' }),
    form(LANGUAGE_PATH, chooseLanguage),
    page(`${PASSWORD_PATH}/{token}`, showPasswordLink),
    form(PASSWORD_PATH, setPassword),
    form('/logout', logout, { body: { type: 'any', limit: 1024, optional: true } }),
    ...['', '/{provider}'].flatMap((suffix) => [
      page(`/oidc/start${suffix}`, startOidc, { hasEffects: true }),
      page(`/oidc/callback${suffix}`, finishOidc, { hasEffects: true, step: 'login' }),
      post(`/oidc/backchannel-logout${suffix}`, backchannelLogout, { body: LOGOUT_FORM }),
    ]),
    page('/consent', showConsent),
    form('/consent', decideConsent, { step: 'consent' }),

    page(ACCOUNT_PATH, showAccount),
    form(`${ACCOUNT_PATH}/{section}`, submitAccount),

    ...(config.admin.sign_in.local ? [page(ADMIN_ENTRY_PATH, enterAdmin)] : []),
    page(FACTOR_PATH, showFactors),
    form(FACTOR_PATH, changeFactors),

    page(`${PATHS.connect}/{provider}`, startConnect, { hasEffects: true }),
    form(`${PATHS.connect}/{provider}`, submitConnect),
    page(`${PATHS.connect}/{provider}/callback`, connectCallback, { hasEffects: true }),
    page(PATHS.connections, showConnections),
    remove(`${PATHS.connections}/{provider}`, deleteConnection),

    ...streamRoutes(app, (handle) => (request) => handle(app, request)),

    ...(config.webauthn.enabled ? [get(`${SCRIPT_PATH}/{version}`, showScript)] : []),
    ...(config.ui.logo_file ? [get(LOGO_PATH, showLogo)] : []),

    ...probeRoutes(app),
  ]
}

/** The probes. The admin listener has them too: a check that speaks only HTTP/1.0 gets an answer there. */
export function probeRoutes(app: App): Route[] {
  const { get } = makersOf(app)
  return [
    get('/livez', livez, { unlimited: true }),
    get('/health', health, { unlimited: true }),
    get('/ready', ready, { unlimited: true }),
  ]
}

/** Whether a token request is one of the device grant. Its clients send no Accept header, and read errors as application/json only (libpq). */
const isOfDevice = ({ body }: Request): boolean =>
  new URLSearchParams(body.toString('utf8')).get('grant_type') === deviceCode.type

/** The device authorization grant: the endpoint of the device, and the page of the user. */
const deviceRoutes = ({ client, page, form }: Makers): Route[] => [
  client(PATHS.deviceAuthorization, authorizeDevice, { step: 'device_authorization', hasJsonErrors: () => true }),
  page(PATHS.device, showDevice),
  form(PATHS.device, enterUserCode),
]

/** Approvals (CIBA): the endpoint of the client, and the page of the person. */
const approvalRoutes = ({ client, page, form }: Makers): Route[] => [
  client(PATHS.bcAuthorize, authenticateByBackchannel, { step: 'backchannel_authentication' }),
  page(REQUESTS_PATH, showRequests),
  form(REQUESTS_PATH, decideRequest),
]

/** The routes of the OpenID provider. */
function openIdRoutes({ admission }: App, { get, post, page, form }: Makers): Route[] {
  const verifies = { cors: true, admission } as const
  return [
    form(PATHS.authorize, authorizeByForm, { step: 'authorize' }),
    get(PATHS.userinfo, userinfo, verifies),
    post(PATHS.userinfo, userinfo, { ...verifies, body: { ...FORM, type: 'any', optional: true } }),
    page(PATHS.endSession, logoutByClient, { hasEffects: true }),
    form(PATHS.endSession, logoutByClient, { body: { ...LOGOUT_FORM, optional: true } }),
  ]
}

/** The paths of the metadata documents. For an issuer with a path they have another form (RFC 8414 §3.1). */
function metadataPaths(app: App): string[] {
  const names = ['oauth-authorization-server', 'openid-configuration'].map((name) => `/.well-known/${name}`)
  const base = basePath(app)
  return base ? [...names, ...names.map((name) => name + base)] : names
}
