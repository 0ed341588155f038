// Descriptions of the public endpoints for docs/reference/http-api.md, in addition to the declarations of their routes. A route without an
// entry, or an entry without a route, stops the generator. test/tools/reference.test.ts compares the parameters with those that the code reads.

export interface Endpoint {
  doc: string
  /** Meanings by name, including the parameters of the path. */
  takes?: Readonly<Record<string, string>>
  /** By status. */
  answers: Readonly<Record<string, string>>
}

const CLIENT = {
  client_id: 'The client, unless it is in an `Authorization: Basic` header.',
  client_secret: 'The secret of a confidential client that does not use the header. A request with both is refused.',
  client_assertion_type:
    '`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`, for a client that authenticates with `private_key_jwt` (RFC 7523 §2.2).',
  client_assertion: 'The assertion: a JWT that the client has signed with its private key.',
} as const
const AUTHENTICATION =
  '`invalid_client`: the same text for every failure, so that it does not reveal which clients exist.'
const TOKEN_ERROR = '`invalid_request`, or the reason why the token is refused ([errors](errors.md)).'
const PAGE = 'The page.'
const FORM = { csrf_token: 'The value in the page.' } as const
const NOT_ITS_FORM = 'The form belongs to another session.'
const PROVIDER = { provider: 'Slug of the provider.' } as const
/** The parameters of the redirect from a provider. */
const SENT_BACK = {
  code: 'The authorization code of the provider.',
  state: 'The state that was sent to the provider.',
  error: 'The error, if there is no code.',
} as const
const HINTS = {
  login_hint: 'The email address that an application expects.',
  acr_values: 'The authentication context classes that an application requires.',
} as const
const TO_LOGIN = 'Redirect to the login page, which returns here.'

const serverMetadata: Endpoint = {
  doc: 'Authorization server metadata (RFC 8414). Both names return the same document. If the issuer has a path, the path may also follow the name (RFC 8414 §3.1).',
  answers: { 200: 'The document. It may be cached for an hour.' },
}
const resourceMetadata: Endpoint = {
  doc: 'Protected resource metadata (RFC 9728) of a registered resource. Without `ref` it describes the resource whose URI has no path, otherwise the only registered resource.',
  answers: {
    200: 'The document. It may be cached for an hour.',
    404: '`not_found`: no resource is registered under this path.',
  },
}

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

const userinfo: Endpoint = {
  doc: 'Claims about the user of an access token with the scope `openid` and without a resource (OpenID Connect Core §5.3). Only with `oauth.openid`. A bound token needs a DPoP proof.',
  answers: {
    200: '`sub`, with `name` for the scope `profile`, and `email` and `email_verified` for the scope `email`.',
    401: '`invalid_token` or `invalid_dpop_proof`: there is no valid token for this endpoint; with a challenge.',
    403: '`insufficient_scope`: the token does not have the scope `openid`.',
  },
}
const endSession: Endpoint = {
  doc: 'Signs the user out (OpenID Connect RP-Initiated Logout 1.0). Only with `oauth.openid`. Without a valid ID token of the signed-in user a page asks first, and nothing is redirected.',
  takes: {
    id_token_hint: 'An ID token of the user. It may have expired.',
    client_id: 'The client of the ID token.',
    post_logout_redirect_uri: 'A registered URI of the client, exactly.',
    state: 'Returned unchanged.',
  },
  answers: { 200: PAGE, 303: 'Signed out: a redirect to `post_logout_redirect_uri`.' },
}

/** By method and path of the route. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /.well-known/oauth-authorization-server': serverMetadata,
  'GET /.well-known/openid-configuration': serverMetadata,
  'GET /.well-known/jwks.json': {
    doc: 'The public signing keys (RFC 7517): the current key, the next key, and keys whose tokens may still be valid.',
    answers: {
      200: 'The keys, with an `ETag`. They may be cached for five minutes.',
      304: 'The keys match `If-None-Match`.',
    },
  },
  'GET /.well-known/oauth-protected-resource': resourceMetadata,
  'GET /.well-known/oauth-protected-resource/{ref...}': {
    ...resourceMetadata,
    takes: { ref: 'The path of the URI of the resource (RFC 9728 §3.1), or its slug.' },
  },
  'GET /.well-known/agents.json': {
    doc: 'Clients that are agents. Only with `agents.enable_jwks_listing`.',
    answers: { 200: '`issuer` and `agents`, each with `agent_id`, `client_name`, `agent_description`, `jwks_uri`.' },
  },

  'GET /oauth/authorize': {
    doc: 'Starts an authorization (RFC 6749 §4.1.1, PKCE required). The browser returns to the client after login and consent, with `code`, `state` and `iss`, or with `error`, `error_description`, `state` and `iss`.',
    takes: {
      response_type: '`code`. Required.',
      client_id: 'The client, or the URL of its metadata document. Required.',
      redirect_uri:
        'A registered URI, exactly. A registered loopback URI of a native client or a client document matches any port if it has none. Required if several are registered.',
      code_challenge: 'PKCE (RFC 7636). Required.',
      code_challenge_method: '`S256`. Required.',
      scope: 'Names, separated by spaces. Default: all scopes that the client may request.',
      resource: 'URI of the resource that the token is for (RFC 8707). One at most.',
      state: 'Returned unchanged.',
      prompt: '`none`, `login`, `consent` or `select_account` (OpenID Connect Core §3.1.2.1).',
      nonce: 'Repeated in the ID token. Only with `oauth.openid`.',
      max_age: 'Maximum seconds since the user signed in. Only with `oauth.openid`.',
      acr_values:
        'Authentication context classes of which one is required (RFC 9470). Upstream providers assert them. Only with `oauth.openid`.',
      login_hint: 'Email address for the login page. Only with `oauth.openid`.',
      id_token_hint: 'An ID token of this client: the request is for its user. Only with `oauth.openid`.',
      login_after: 'Set by this service on the way to the login page.',
      response_mode: '`query`.',
      dpop_jkt: 'Binds the code to a key (RFC 9449 §10).',
    },
    answers: {
      303: 'Redirect to the login page, to the consent page, or to the client with a code or an error.',
      400: 'The client or the redirect URI is not verified. Browsers get a page, programs a problem document. There is no redirect. If an administrator did not register the client, every refusal is answered like this until a user is signed in.',
    },
  },
  'POST /oauth/authorize': {
    doc: 'The same request as a form (OpenID Connect Core §3.1.2.1). Only with `oauth.openid`.',
    answers: { 303: 'Redirect to the request as a URL.' },
  },
  'POST /oauth/token': {
    doc: 'Issues tokens. A refused request consumes no code and no refresh token. A verified DPoP proof counts as used, and so does an ID-JAG assertion that is refused because of the policies, users or resources of this service. With a `DPoP` header the token is bound to the key of the proof (RFC 9449).',
    takes: { grant_type: 'One of the grant types below. Required.', ...CLIENT },
    answers: {
      200: '`access_token` (a JWT, RFC 9068), `token_type` (`Bearer` or `DPoP`), `expires_in`, `scope`, `refresh_token` if the client may have one, `id_token` for the scope `openid`.',
      400: '`invalid_grant`, `invalid_scope`, `invalid_target`, `invalid_dpop_proof`, `use_dpop_nonce` (with a `DPoP-Nonce` header), `unauthorized_client`, `unsupported_grant_type`, `consent_required`, `invalid_request`.',
      401: AUTHENTICATION,
      503: 'The database, the signing key or a provider is unavailable; with `Retry-After`. Nothing was consumed, so the request may be repeated.',
    },
  },
  'POST /oauth/device_authorization': {
    doc: 'Starts a device authorization (RFC 8628 §3.1). Only with `device.enabled`. With a `DPoP` header the device code is bound to the key of the proof.',
    takes: {
      scope: 'As in an authorization request.',
      resource: 'URI of the resource that the token is for (RFC 8707). One at most.',
      ...CLIENT,
    },
    answers: {
      200: '`device_code`, `user_code` (such as `BCDF-GHJK`), `verification_uri`, `verification_uri_complete`, `expires_in`, `interval`.',
      400: '`invalid_scope`, `invalid_target`, `unauthorized_client`, `invalid_dpop_proof`, `use_dpop_nonce`, `invalid_request`.',
      401: AUTHENTICATION,
    },
  },
  'GET /device': {
    doc: 'The page on which a user enters the user code of a device. Only with `device.enabled`.',
    takes: { user_code: 'A code that the page shows. The user must still send it.' },
    answers: { 200: PAGE, 303: TO_LOGIN },
  },
  'POST /device': {
    doc: 'Takes the user code, in any case, with or without hyphen. Ten unknown codes of one session or one address are answered at once, then one each minute, at all instances together.',
    takes: { user_code: 'The code.', ...FORM },
    answers: {
      303: 'Redirect to the consent page.',
      403: `${NOT_ITS_FORM} Or an access rule of the resource excludes the user.`,
      422: 'No device waits for this code.',
      429: 'Too many unknown codes of this session or address; with `Retry-After`.',
    },
  },
  'POST /oauth/introspect': {
    doc: 'The state of a token (RFC 7662), for its own client and for the clients on the runtime list of its resource.',
    takes: { token: 'The access token. Required.', ...CLIENT },
    answers: {
      200: '`active: true` with the claims of the token and `token_type`; `active: false` for a token that is not valid or that the caller may not introspect.',
      400: TOKEN_ERROR,
      401: `${AUTHENTICATION} Public clients may not introspect.`,
    },
  },
  'POST /oauth/revoke': {
    doc: 'Revokes a token (RFC 7009), effective at once. A refresh token revokes its family, with all its tokens.',
    takes: {
      token: 'The access or refresh token. Required.',
      token_type_hint: '`access_token` or `refresh_token`. Other values are refused with `unsupported_token_type`.',
      ...CLIENT,
    },
    answers: {
      200: 'The token is revoked. An unknown token and a token of another client get the same response, and nothing is revoked.',
      400: TOKEN_ERROR,
      401: AUTHENTICATION,
    },
  },
  'GET /oauth/userinfo': userinfo,
  'POST /oauth/userinfo': {
    ...userinfo,
    takes: { access_token: 'The access token, if it is not in the Authorization header.' },
  },
  'GET /oauth/logout': endSession,
  'POST /oauth/logout': endSession,
  'POST /oauth/register': {
    doc: 'Dynamic client registration (RFC 7591), if `dcr.mode` allows it. Unknown members are ignored, and a member that is null counts as absent. Unsupported grant types, unsupported response types and unsafe redirect URIs are left out. The response lists what was registered.',
    answers: {
      201: 'The registered metadata, with `client_id`, `client_id_issued_at`, and for a confidential client `client_secret` (shown once) and `client_secret_expires_at`.',
      400: '`invalid_client_metadata` or `invalid_redirect_uri`, with every fault: a member is malformed, or no usable value remains.',
      403: '`access_denied`: only administrators register clients.',
      429: '`slow_down`: too many registrations from this address; with `Retry-After`.',
    },
  },

  'GET /': { doc: 'Leads to the account page.', answers: { 303: 'Redirect to `/account`.' } },
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
    doc: 'Signs in with a password. Every wrong credential gets the same response after the same work.',
    takes: {
      email: 'Email address of the user.',
      password: 'Password of the user.',
      redirect: 'As above.',
      ...FORM,
    },
    answers: {
      303: 'Signed in: a session cookie, and a redirect to `redirect`.',
      422: 'Email or password is wrong, or the form has expired.',
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
    takes: { session_id: 'Id of the request.' },
    answers: { 200: PAGE, 303: TO_LOGIN, 400: 'The request has expired or is already decided.' },
  },
  'POST /consent': {
    doc: 'Stores the decision of the user.',
    takes: {
      session_id: 'Id of the request.',
      action: '`allow` or `deny`.',
      scopes: 'An allowed scope, once for each checked box.',
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
    doc: 'The account page: applications with access, sign-ins, password, connections and language ([guide](../guides/account.md)).',
    takes: {
      done: 'The section whose form was accepted. The page shows a text for it.',
      error: 'Error code of a connection that failed. The page shows a text for it.',
    },
    answers: { 200: PAGE, 303: TO_LOGIN },
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
      409: 'The password was changed at the same time.',
      422: 'The current password is wrong, or the new password is not accepted.',
      429: 'Too many failures from this address; with `Retry-After`.',
    },
  },

  'GET /connect/{provider}': {
    doc: 'Redirects the signed-in user to a provider ([broker](../guides/broker.md)). A browser (`Sec-Fetch-Dest`) first gets a page that names the account. If the provider uses API keys, the page asks for one.',
    takes: {
      ...PROVIDER,
      resource: 'Slug or URI of the broker resource. Optional if there is only one.',
      return_url: 'Target after the connection. It must be an allowed return URL. Required.',
    },
    answers: {
      200: 'The page that names the account.',
      303: 'Redirect to the provider, or to the login page.',
      400: '`invalid_request` or `invalid_target`.',
      503: '`temporarily_unavailable`: `data_encryption.driver` or `connect.state_secret` is not set.',
    },
  },
  'POST /connect/{provider}': {
    doc: 'Accepts the form of the page of `GET /connect/{provider}`. Redirects to the provider, or stores the API key that the user entered.',
    takes: {
      ...PROVIDER,
      resource: 'As above.',
      return_url: 'As above.',
      api_key: 'The key, if the provider uses API keys.',
      ...FORM,
    },
    answers: {
      303: 'Redirect to the provider, or to `return_url` once a key is stored.',
      403: NOT_ITS_FORM,
      422: 'The value is not a valid key.',
    },
  },
  'GET /connect/{provider}/callback': {
    doc: 'The redirect URI at a provider.',
    takes: {
      ...PROVIDER,
      ...SENT_BACK,
    },
    answers: {
      303: 'Redirect to `return_url`, with `error` if the connection failed.',
      400: 'The state is unknown, used or expired.',
      403: 'Another user started this connection.',
    },
  },
  'GET /connections': {
    doc: 'The connections of the signed-in user as JSON. A browser is sent to the account page.',
    takes: { error: 'Error code. The account page shows a text for it.' },
    answers: {
      200: 'A list with `provider`, `display_name`, `scopes_granted`, `created_at`, `updated_at`.',
      303: 'A browser: redirect to `/account`.',
      401: '`unauthorized`: no user is signed in.',
    },
  },
  'DELETE /connections/{provider}': {
    doc: 'Ends a connection, for a program with the session of the user.',
    takes: PROVIDER,
    answers: { 204: 'Ended.', 401: 'No user is signed in.', 404: 'There is no such connection.' },
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
