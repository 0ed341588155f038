// The table of the routes of the public listener.
import type { App } from '../context.ts'
import { deviceCode } from '../grants/device_code.ts'
import type { Reply, Request } from '../http/message.ts'
import type { Route } from '../http/route.ts'
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
type On = (handle: (app: App, request: Request) => Reply | Promise<Reply>) => Route['handle']
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'

/** The routes of the public listener. */
export function publicRoutes(app: App): Route[] {
  const on: On = (handle) => (request) => handle(app, request)
  const renderError = (error: OAuthError, request: Request) => renderAuthorizeError(app, error, request)
  const signs = { body: FORM, cors: true, admission: app.admission } as const
  return [
    ...metadataPaths(app).map(
      (path): Route => ({
        method: 'GET',
        path,
        cors: true,
        step: 'metadata',
        handle: on(serverDocument),
      }),
    ),
    { method: 'GET', path: PATHS.jwks, cors: true, handle: on(jwks) },
    { method: 'GET', path: RESOURCE_METADATA, cors: true, step: 'resource_metadata', handle: on(resourceDocument) },
    {
      method: 'GET',
      path: `${RESOURCE_METADATA}/{ref...}`,
      cors: true,
      step: 'resource_metadata',
      handle: on(resourceDocument),
    },

    ...(app.config.agents.enable_jwks_listing
      ? [{ method: 'GET', path: '/.well-known/agents.json', cors: true, handle: on(agentsDocument) } as const]
      : []),

    { method: 'GET', path: PATHS.authorize, hasEffects: true, step: 'authorize', handle: on(authorize), renderError },
    { method: 'POST', path: PATHS.token, ...signs, step: 'token', handle: on(token), hasJsonErrors: isOfDevice },
    { method: 'POST', path: PATHS.par, ...signs, step: 'push', handle: on(pushAuthorizationRequest) },
    { method: 'POST', path: PATHS.introspect, ...signs, step: 'introspect', handle: on(introspect) },
    { method: 'POST', path: PATHS.revoke, ...signs, step: 'revoke', handle: on(revoke) },

    ...(app.config.device.enabled ? deviceRoutes(on, signs, renderError) : []),
    ...(app.config.ciba.enabled ? approvalRoutes(on, signs, renderError) : []),
    ...(app.config.oauth.openid ? openIdRoutes(app, on, renderError) : []),

    { method: 'POST', path: PATHS.register, body: JSON_BODY, cors: true, step: 'register', handle: on(register) },

    { method: 'GET', path: '/', handle: on(showStart), renderError },
    { method: 'GET', path: '/login', handle: on(showLogin), renderError },
    { method: 'POST', path: '/login', body: FORM, step: 'login', handle: on(login), renderError },
    { method: 'POST', path: LANGUAGE_PATH, body: FORM, handle: on(chooseLanguage), renderError },
    { method: 'GET', path: `${PASSWORD_PATH}/{token}`, handle: on(showPasswordLink), renderError },
    { method: 'POST', path: PASSWORD_PATH, body: FORM, handle: on(setPassword), renderError },
    {
      method: 'POST',
      path: '/logout',
      body: { type: 'any', limit: 1024, optional: true },
      handle: on(logout),
      renderError,
    },
    ...['', '/{provider}'].flatMap((suffix): Route[] => [
      { method: 'GET', path: `/oidc/start${suffix}`, hasEffects: true, handle: on(startOidc), renderError },
      {
        method: 'GET',
        path: `/oidc/callback${suffix}`,
        hasEffects: true,
        step: 'login',
        handle: on(finishOidc),
        renderError,
      },
      { method: 'POST', path: `/oidc/backchannel-logout${suffix}`, body: LOGOUT_FORM, handle: on(backchannelLogout) },
    ]),
    { method: 'GET', path: '/consent', handle: on(showConsent), renderError },
    { method: 'POST', path: '/consent', body: FORM, step: 'consent', handle: on(decideConsent), renderError },

    { method: 'GET', path: ACCOUNT_PATH, handle: on(showAccount), renderError },
    { method: 'POST', path: `${ACCOUNT_PATH}/{section}`, body: FORM, handle: on(submitAccount), renderError },

    ...(app.config.admin.sign_in.local
      ? [{ method: 'GET', path: ADMIN_ENTRY_PATH, handle: on(enterAdmin), renderError } as const]
      : []),
    { method: 'GET', path: FACTOR_PATH, handle: on(showFactors), renderError },
    { method: 'POST', path: FACTOR_PATH, body: FORM, handle: on(changeFactors), renderError },

    { method: 'GET', path: `${PATHS.connect}/{provider}`, hasEffects: true, handle: on(startConnect), renderError },
    { method: 'POST', path: `${PATHS.connect}/{provider}`, body: FORM, handle: on(submitConnect), renderError },
    {
      method: 'GET',
      path: `${PATHS.connect}/{provider}/callback`,
      hasEffects: true,
      handle: on(connectCallback),
      renderError,
    },
    { method: 'GET', path: PATHS.connections, handle: on(showConnections), renderError },
    { method: 'DELETE', path: `${PATHS.connections}/{provider}`, handle: on(deleteConnection) },

    ...streamRoutes(app, on),

    ...(app.config.webauthn.enabled
      ? [{ method: 'GET', path: `${SCRIPT_PATH}/{version}`, handle: on(showScript) } as const]
      : []),
    ...(app.config.ui.logo_file ? [{ method: 'GET', path: LOGO_PATH, handle: on(showLogo) } as const] : []),

    ...probeRoutes(app),
  ]
}

/** The probes. The admin listener has them too: a check that speaks only HTTP/1.0 gets an answer there. */
export function probeRoutes(app: App): Route[] {
  const on: On = (handle) => (request) => handle(app, request)
  return [
    { method: 'GET', path: '/livez', unlimited: true, handle: on(livez) },
    { method: 'GET', path: '/health', unlimited: true, handle: on(health) },
    { method: 'GET', path: '/ready', unlimited: true, handle: on(ready) },
  ]
}

/** Whether a token request is one of the device grant. Its clients send no Accept header, and read errors as application/json only (libpq). */
const isOfDevice = ({ body }: Request): boolean =>
  new URLSearchParams(body.toString('utf8')).get('grant_type') === deviceCode.type

/** The device authorization grant: the endpoint of the device, and the page of the user. */
const deviceRoutes = (
  on: On,
  signs: Pick<Route, 'body' | 'cors' | 'admission'>,
  renderError: Route['renderError'],
): Route[] => [
  {
    method: 'POST',
    path: PATHS.deviceAuthorization,
    ...signs,
    step: 'device_authorization',
    handle: on(authorizeDevice),
    hasJsonErrors: () => true,
  },
  { method: 'GET', path: PATHS.device, handle: on(showDevice), renderError },
  { method: 'POST', path: PATHS.device, body: FORM, handle: on(enterUserCode), renderError },
]

/** Approvals (CIBA): the endpoint of the client, and the page of the person. */
const approvalRoutes = (
  on: On,
  signs: Pick<Route, 'body' | 'cors' | 'admission'>,
  renderError: Route['renderError'],
): Route[] => [
  {
    method: 'POST',
    path: PATHS.bcAuthorize,
    ...signs,
    step: 'backchannel_authentication',
    handle: on(authenticateByBackchannel),
  },
  { method: 'GET', path: REQUESTS_PATH, handle: on(showRequests), renderError },
  { method: 'POST', path: REQUESTS_PATH, body: FORM, handle: on(decideRequest), renderError },
]

/** The routes of the OpenID provider. */
function openIdRoutes({ admission }: App, on: On, renderError: Route['renderError']): Route[] {
  const [about, leave] = [on(userinfo), on(logoutByClient)]
  const body = { ...LOGOUT_FORM, optional: true } as const
  const verifies = { cors: true, admission } as const
  return [
    { method: 'POST', path: PATHS.authorize, body: FORM, step: 'authorize', handle: on(authorizeByForm), renderError },
    { method: 'GET', path: PATHS.userinfo, ...verifies, handle: about },
    {
      method: 'POST',
      path: PATHS.userinfo,
      ...verifies,
      body: { ...FORM, type: 'any', optional: true },
      handle: about,
    },
    { method: 'GET', path: PATHS.endSession, hasEffects: true, handle: leave, renderError },
    { method: 'POST', path: PATHS.endSession, body, handle: leave, renderError },
  ]
}

/** The paths of the metadata documents. For an issuer with a path they have another form (RFC 8414 §3.1). */
function metadataPaths(app: App): string[] {
  const names = ['oauth-authorization-server', 'openid-configuration'].map((name) => `/.well-known/${name}`)
  const base = basePath(app)
  return base ? [...names, ...names.map((name) => name + base)] : names
}
