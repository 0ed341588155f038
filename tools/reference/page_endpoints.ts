// Descriptions of the pages for users and of the health checks, in addition to the declarations of their routes.
import { CONNECTION_ENDPOINTS, PROVIDER, SENT_BACK } from './connection_endpoints.ts'
import { type Endpoint, FORM, NOT_ITS_FORM, PAGE, TO_LOGIN } from './endpoint.ts'

const HINTS = {
  login_hint: 'The email address that an application expects.',
  acr_values: 'The authentication context classes that an application requires.',
} as const

const startOidc: Endpoint = {
  doc: 'Redirects to an upstream OpenID provider: that of `oidc.*`, or a provider of `oidc.providers` by its slug.',
  takes: {
    redirect: 'A path of this service, the target after sign-in.',
    prompt: '`login` asks for a new sign-in there.',
    ...HINTS,
  },
  answers: { 302: 'Redirect to the provider.', 404: 'No such provider is configured.' },
}
const oidcCallback: Endpoint = {
  doc: 'The redirect URI at an upstream OpenID provider.',
  takes: SENT_BACK,
  answers: {
    303: 'Signed in: a redirect to `redirect`.',
    400: 'The sign-in has expired, was started in another browser or at another provider, or was refused by the provider.',
    401: 'The sign-in could not be verified, or the account is disabled.',
    403: 'The email address is in none of the domains of `allowed_email_domains`.',
    404: 'No such provider is configured.',
    409: 'Another account has the email address.',
    500: 'The provider cannot be reached, or its metadata does not match the configuration.',
    502: 'The provider does not accept the client id or secret of this service.',
  },
}
const backchannelLogout: Endpoint = {
  doc: 'An upstream OpenID provider ends the sessions of a user (OpenID Connect Back-Channel Logout 1.0). With `logout_ends_grants` of the provider the refresh tokens and upstream connections of the user end too.',
  takes: { logout_token: 'The signed logout token.' },
  answers: {
    200: 'The sessions have ended, or there were none.',
    400: '`invalid_request`: the logout token is not valid, or was used before.',
    404: 'No such provider is configured.',
    429: 'Too many invalid logout tokens from this address.',
  },
}

/** By method and path of the route. */
export const PAGE_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /': { doc: 'Redirects to the account page.', answers: { 303: 'Redirect to `/account`.' } },
  'GET /login': {
    doc: 'The login page. A signed-in user sees who is signed in, and a link to the account page.',
    takes: {
      redirect: 'A path of this service, the target after sign-in.',
      prompt: '`login` asks for a new sign-in.',
      ...HINTS,
    },
    answers: { 200: PAGE },
  },
  'POST /login': {
    doc: 'Signs in with a password, and a code if the user has a second factor, or with a passkey. Every wrong credential gets the same response after the same work.',
    takes: {
      email: 'Email address of the user.',
      password: 'Password of the user.',
      code: 'Code of an authenticator app, or a recovery code.',
      checked: 'Value of the page after a first try: the password may then be left empty for five minutes.',
      passkey: 'Answer of a passkey (WebAuthn), as JSON. It replaces the other credentials.',
      redirect: 'As above.',
      ...FORM,
    },
    answers: {
      303: 'Signed in: a session cookie, and a redirect to `redirect`.',
      422: 'Email, password, code or passkey is wrong, a code is missing, or the form has expired.',
      429: 'Too many failures from this address; with `Retry-After`.',
    },
  },
  'GET /password/{token}': {
    doc: 'The page on which a user sets a password with a one-time link from an operator. Opening it does not use the link up.',
    takes: { token: 'The token of the link.' },
    answers: { 200: PAGE, 404: 'The link is wrong, expired, replaced or used.' },
  },
  'POST /password': {
    doc: 'Sets the password and uses the link up. The sessions and refresh tokens of the user end.',
    takes: {
      token: 'The token of the link.',
      new_password: 'The new password.',
      new_password_again: 'The same password again.',
    },
    answers: {
      200: 'The password is set.',
      403: 'The request came from another site.',
      404: 'The link is wrong, expired, replaced or used.',
      422: 'The password is too short or too long, or the two are not the same. The link stays usable.',
    },
  },
  'POST /logout': {
    doc: 'Ends the session.',
    answers: { 303: 'Redirect to the login page.', 403: 'The request came from another site.' },
  },
  'POST /language': {
    doc: 'Keeps a language for the pages in the browser, and returns to the page.',
    takes: { language: 'The tag of the language.', redirect: 'The local path of the page.' },
    answers: { 303: 'Redirect to the page.', 403: 'The request came from another site.' },
  },
  'GET /oidc/start': startOidc,
  'GET /oidc/start/{provider}': { ...startOidc, takes: { ...PROVIDER, ...startOidc.takes } },
  'GET /oidc/callback': oidcCallback,
  'GET /oidc/callback/{provider}': { ...oidcCallback, takes: { ...PROVIDER, ...oidcCallback.takes } },
  'POST /oidc/backchannel-logout': backchannelLogout,
  'POST /oidc/backchannel-logout/{provider}': {
    ...backchannelLogout,
    takes: { ...PROVIDER, ...backchannelLogout.takes },
  },
  'GET /consent': {
    doc: 'The consent page. A request is valid for ten minutes, in the session that started it.',
    takes: { session_id: 'Id of the request.', account: '`another` begins the request again with a new sign-in.' },
    answers: { 200: PAGE, 303: TO_LOGIN, 400: 'The request has expired or is already decided.' },
  },
  'POST /consent': {
    doc: 'Stores the decision of the user.',
    takes: {
      session_id: 'Id of the request.',
      action: '`allow` or `deny`.',
      scopes: 'An allowed scope, once for each checked box.',
      details: 'Positions of the elements of `authorization_details` that the user allows, from 0.',
      ...FORM,
    },
    answers: {
      200: 'The decision about a device is recorded. The device gets the answer when it polls.',
      303: 'Redirect to the client, with a code or with `access_denied`.',
      400: 'The request has expired, is already decided, or no scope is chosen.',
      401: 'No user is signed in.',
      403: NOT_ITS_FORM,
    },
  },

  'GET /account': {
    doc: 'The account page: applications with access, sign-ins, password, second factor, connections and language ([guide](../guides/account.md)).',
    takes: {
      done: 'The section whose form was accepted. The page shows a text for it.',
      error: 'Error code of a connection that failed. The page shows a text for it.',
    },
    answers: { 200: PAGE, 303: TO_LOGIN },
  },
  'GET /account/requests': {
    doc: 'The page on which the signed-in user decides about approvals (CIBA). Only with `ciba.enabled`.',
    takes: {
      confirm: 'Id of a request that needs another sign-in, which follows.',
      done: '`allowed` or `denied`: what the last form did. The page shows a text for it.',
    },
    answers: { 200: PAGE, 303: TO_LOGIN },
  },
  'POST /account/requests': {
    doc: 'Accepts the form of one request. Only with `ciba.enabled`.',
    takes: {
      request_id: 'Id of the request. Required.',
      action: '`allow` or `deny`. Required.',
      scopes: 'Scopes that are allowed. May be repeated.',
      details: 'Position of an element of the authorization details that is allowed, from 0. May be repeated.',
      ...FORM,
    },
    answers: {
      303: 'The decision is recorded: a redirect to the page. Or to a sign-in that the request requires.',
      400: 'The request has expired, is already decided, or nothing was chosen.',
      403: NOT_ITS_FORM,
    },
  },
  'POST /account/{section}': {
    doc: 'Accepts a form of the account page.',
    takes: {
      section: '`applications`, `sign-ins`, `password`, `connections` or `language`.',
      client_id: 'Application whose access ends.',
      resource_id:
        'Id of the resource to which the access of the application ends. Absent for access without a resource.',
      session_id: 'Sign-in that ends.',
      others: 'Any value: all other sign-ins end.',
      current_password: 'The current password.',
      new_password: 'The new password.',
      new_password_again: 'The new password, again.',
      provider: 'Slug of the provider whose connection ends.',
      language: 'Tag of the language of the pages in this browser.',
      ...FORM,
    },
    answers: {
      303: 'Done: a redirect to the page.',
      403: NOT_ITS_FORM,
      404: 'The page has no such section.',
      409: 'The password was changed at the same time.',
      422: 'The current password is wrong, or the new password is not accepted.',
      429: 'Too many failures from this address; with `Retry-After`.',
    },
  },

  'GET /second-factor': {
    doc: 'The page that adds a second factor of a local user ([guide](../guides/second-factors.md)). It also works in a session that lacks the factor that the user needs.',
    takes: { redirect: 'A path of this service, the target afterwards.' },
    answers: {
      200: PAGE,
      303: 'No user is signed in, or not within the last ten minutes, or without the factor that the user has: a redirect to the login page.',
    },
  },
  'POST /second-factor': {
    doc: 'Adds, confirms or removes a second factor, or replaces the recovery codes. The sign-in must be of the last ten minutes, and with a factor if the user has one.',
    takes: {
      action: '`add_app`, `confirm_app`, `add_passkey`, `remove` or `recovery_codes`.',
      app: 'The authenticator app that is being added, encrypted.',
      code: 'Code of that app.',
      passkey: 'Answer of a new passkey (WebAuthn), as JSON.',
      name: 'Name of the passkey.',
      id: 'Id of the factor that is removed.',
      redirect: 'As above.',
      ...FORM,
    },
    answers: {
      200: 'The page of the app, or the recovery codes, which are shown once.',
      303: 'Done, or a redirect to the login page.',
      400: 'The form names no action.',
      403: NOT_ITS_FORM,
      422: 'The code or the passkey is wrong, or there are too many factors.',
    },
  },
  'GET /admin-sign-in': {
    doc: 'Signs a local admin in to the admin page with a passkey. Only with `admin.sign_in.local`.',
    takes: { request: 'Value of the admin page.' },
    answers: {
      303: 'A redirect to the sign-in, or back to the admin page with a code.',
      400: 'The value has expired.',
      403: 'The user is no local user with the role `admin`.',
    },
  },

  ...CONNECTION_ENDPOINTS,

  'GET /ui/script/{version}': {
    doc: 'The script of the pages for users: it shows passwords, sends responses to applications (`form_post`), and answers for passkeys. Not with `webauthn.enabled: false`.',
    takes: { version: 'Version of the script, as the pages name it.' },
    answers: { 200: 'The current script.' },
  },
  'GET /ui/logo': {
    doc: 'The logo of the pages for users, if `ui.logo_file` is set. An SVG file is served with a policy that forbids scripts.',
    answers: { 200: 'The file of `ui.logo_file`. It may be cached for an hour.' },
  },
  'GET /livez': {
    doc: 'Liveness: the process runs. It checks nothing else.',
    answers: { 200: '`status` and `time`.' },
  },
  'GET /health': {
    doc: 'Health of the process and its storage. It also answers under overload.',
    answers: { 200: '`status` and `db`.', 503: 'The storage is unavailable.' },
  },
  'GET /ready': {
    doc: 'Readiness for new requests.',
    answers: { 200: '`status` and `db`.', 503: 'The storage is unavailable, or the process is shutting down.' },
  },
}
