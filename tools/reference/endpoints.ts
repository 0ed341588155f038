// What docs/reference/http-api.md says of the public endpoints beside what their routes declare. A route without an entry, or an entry
// without a route, stops the generator; test/tools/reference.test.ts holds the parameters against what the code reads.

export interface Endpoint {
  doc: string
  /** By name, with what each means; those of the path are among them. */
  takes?: Readonly<Record<string, string>>
  /** By status. */
  answers: Readonly<Record<string, string>>
}

const CLIENT = {
  client_id: 'The client, unless it is in an `Authorization: Basic` header.',
  client_secret: 'Of a confidential client that does not use the header. Two ways at once are refused.',
} as const
const AUTHENTICATION = '`invalid_client`: one text for every failure, so that nobody learns which clients exist.'
const TOKEN_ERROR = '`invalid_request`, or what the token is refused for ([errors](errors.md)).'
const PAGE = 'The page.'
const FORM = { csrf_token: 'From the page.' } as const
const NOT_ITS_FORM = 'The form is not of this session.'
const PROVIDER = { provider: 'Slug of the provider.' } as const
/** What a provider sends a browser back with. */
const SENT_BACK = { code: 'From the provider.', state: 'What it was given.', error: 'Why there is no code.' } as const
const TO_LOGIN = 'To the login page, which leads back here.'

const serverMetadata: Endpoint = {
  doc: 'Authorization server metadata (RFC 8414). Both names give the same document; where the issuer has a path, it may also stand behind them (RFC 8414 §3.1).',
  answers: { 200: 'The document; may be kept for an hour.' },
}
const resourceMetadata: Endpoint = {
  doc: 'Protected resource metadata (RFC 9728) of a registered resource. Without a `ref`: of the resource whose URI has no path, else of the only one there is.',
  answers: {
    200: 'The document; may be kept for an hour.',
    404: '`not_found`: no resource is registered under this path.',
  },
}

/** By method and path of the route. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /.well-known/oauth-authorization-server': serverMetadata,
  'GET /.well-known/openid-configuration': serverMetadata,
  'GET /.well-known/jwks.json': {
    doc: 'The public signing keys (RFC 7517): the current one, the next one, and those whose tokens may still live.',
    answers: {
      200: 'The keys, with an `ETag`; may be kept for five minutes.',
      304: 'They are those of `If-None-Match`.',
    },
  },
  'GET /.well-known/oauth-protected-resource': resourceMetadata,
  'GET /.well-known/oauth-protected-resource/{ref...}': {
    ...resourceMetadata,
    takes: { ref: 'The path of the URI of the resource (RFC 9728 §3.1), or its slug.' },
  },
  'GET /.well-known/agents.json': {
    doc: 'The agents among the clients. Only with `agents.enable_jwks_listing`.',
    answers: { 200: '`issuer` and `agents`, each with `agent_id`, `client_name`, `agent_description`, `jwks_uri`.' },
  },

  'GET /oauth/authorize': {
    doc: 'Where a browser begins (RFC 6749 §4.1.1, PKCE required). It leads over login and consent back to the client, with `code`, `state` and `iss`, or with `error`, `error_description`, `state` and `iss`.',
    takes: {
      response_type: '`code`. Required.',
      client_id: 'The client, or the URL of its metadata document. Required.',
      redirect_uri:
        'One that is registered, exactly; of native clients and documents a loopback URI without a port matches any port. Required where several are registered.',
      code_challenge: 'PKCE (RFC 7636). Required.',
      code_challenge_method: '`S256`. Required.',
      scope: 'Names, separated by spaces; without it everything that the client may ask for.',
      resource: 'URI of the resource that the token is for (RFC 8707); one.',
      state: 'Comes back as it is.',
      prompt: '`none`, `login` or `consent` (OpenID Connect Core §3.1.2.1).',
      response_mode: '`query`.',
      dpop_jkt: 'Binds the code to a key (RFC 9449 §10).',
    },
    answers: {
      303: 'To the login page, to the consent page, or to the client with a code or an error.',
      400: 'Client or redirect URI are not proven: a page for people, a problem document for programs; never a redirect. A client that an administrator did not register gets every refusal here until somebody is signed in.',
    },
  },
  'POST /oauth/token': {
    doc: 'Issues tokens. What is refused is not used up, but for an ID-JAG assertion that this service refuses by its own state. With a `DPoP` header the token is bound to its key (RFC 9449).',
    takes: { grant_type: 'One of those below. Required.', ...CLIENT },
    answers: {
      200: '`access_token` (a JWT, RFC 9068), `token_type` (`Bearer` or `DPoP`), `expires_in`, `scope`, `refresh_token` where the client may have one.',
      400: '`invalid_grant`, `invalid_scope`, `invalid_target`, `invalid_dpop_proof`, `use_dpop_nonce` (with a `DPoP-Nonce` header), `unauthorized_client`, `unsupported_grant_type`, `consent_required`, `invalid_request`.',
      401: AUTHENTICATION,
      503: 'The database, the signing key or a provider is away; with `Retry-After`. Nothing was used up.',
    },
  },
  'POST /oauth/introspect': {
    doc: 'What a token is worth (RFC 7662): for its own client, and for the clients on the runtime list of its resource.',
    takes: { token: 'The access token. Required.', ...CLIENT },
    answers: {
      200: '`active: true` with the claims of the token and `token_type`; `active: false` for everything that is not live, or not the business of who asks.',
      400: TOKEN_ERROR,
      401: `${AUTHENTICATION} Public clients may not ask.`,
    },
  },
  'POST /oauth/revoke': {
    doc: 'Ends a token (RFC 7009), at once. A refresh token ends its sign-in with every token of it.',
    takes: {
      token: 'The access or refresh token. Required.',
      token_type_hint: '`access_token` or `refresh_token`; another one is `unsupported_token_type`.',
      ...CLIENT,
    },
    answers: {
      200: 'It is not live any more, whether it ever was or belongs to another client.',
      400: TOKEN_ERROR,
      401: AUTHENTICATION,
    },
  },
  'POST /oauth/register': {
    doc: 'Dynamic client registration (RFC 7591), within `dcr.mode`. Unknown members are ignored, and a member that is null is absent. Grant types, response types and redirect URIs that are not offered are left out: the answer lists what was registered.',
    answers: {
      201: 'What was registered, with `client_id`, `client_id_issued_at`, and for a confidential client `client_secret` (shown once) and `client_secret_expires_at`.',
      400: '`invalid_client_metadata` or `invalid_redirect_uri`, which name every fault: a member is malformed, or nothing usable is left.',
      403: '`access_denied`: clients are registered by an administrator.',
      429: '`slow_down`: too many registrations of this address; with `Retry-After`.',
    },
  },

  'GET /': { doc: 'Says who is signed in, with a button to sign out.', answers: { 200: PAGE, 303: TO_LOGIN } },
  'GET /login': {
    doc: 'The login page. With `oidc.*` and no local users it goes straight to the upstream provider.',
    takes: { redirect: 'A path of this service to go on to.', prompt: '`login` asks for a new sign-in.' },
    answers: { 200: PAGE, 303: 'Somebody is signed in, or to the provider.' },
  },
  'POST /login': {
    doc: 'Signs in with a password. Every wrong credential gets the same answer after the same work.',
    takes: {
      email: 'Of the user.',
      password: 'Of the user.',
      redirect: 'As above.',
      ...FORM,
    },
    answers: {
      303: 'Signed in: a session cookie, and on to `redirect`.',
      422: 'Email or password is wrong, or the form has expired.',
      429: 'Too many failures of this address; with `Retry-After`.',
    },
  },
  'POST /logout': {
    doc: 'Ends the session.',
    answers: { 303: 'To the login page.', 403: 'The request came from another site.' },
  },
  'GET /oidc/start': {
    doc: 'To the upstream OpenID provider. Only with `oidc.*`.',
    takes: { redirect: 'A path of this service to come back to.', prompt: '`login` asks for a new sign-in there.' },
    answers: { 302: 'To the provider.', 404: 'None is configured.' },
  },
  'GET /oidc/callback': {
    doc: 'Where the provider sends a user back.',
    takes: SENT_BACK,
    answers: {
      303: 'Signed in, and on.',
      400: 'The sign-in has expired, was begun in another browser, or was refused there.',
    },
  },
  'GET /consent': {
    doc: 'Asks the user. A request waits ten minutes, for the session that began it.',
    takes: { session_id: 'Of the request.' },
    answers: { 200: PAGE, 303: TO_LOGIN, 400: 'The request has expired or was decided.' },
  },
  'POST /consent': {
    doc: 'Takes the decision.',
    takes: {
      session_id: 'Of the request.',
      action: '`allow` or `deny`.',
      scopes: 'What is allowed, once for each checked box.',
      ...FORM,
    },
    answers: {
      303: 'To the client, with a code or with `access_denied`.',
      400: 'The request has expired, was decided, or nothing was chosen.',
      401: 'Nobody is signed in.',
      403: NOT_ITS_FORM,
    },
  },

  'GET /connect/{provider}': {
    doc: 'Sends the user who is signed in to a provider ([broker](../guides/broker.md)). A browser (`Sec-Fetch-Dest`) first shows a page that names the account and, where the provider has keys, asks for one.',
    takes: {
      ...PROVIDER,
      resource: 'Slug or URI of the broker resource that it is for; may be left out where there is one only.',
      return_url: 'Where to go afterwards; must be on the list. Required.',
    },
    answers: {
      200: 'The page that names the account.',
      303: 'To the provider, or to the login page.',
      400: '`invalid_request` or `invalid_target`.',
      503: '`temporarily_unavailable`: `data_encryption.driver` or `connect.state_secret` is not set.',
    },
  },
  'POST /connect/{provider}': {
    doc: 'Goes on from that page: to the provider, or with the key that the user typed in.',
    takes: {
      ...PROVIDER,
      resource: 'As above.',
      return_url: 'As above.',
      api_key: 'The key, where the provider has keys.',
      ...FORM,
    },
    answers: {
      303: 'To the provider; with a key, connected: to `return_url`.',
      403: NOT_ITS_FORM,
      422: 'This is no key.',
    },
  },
  'GET /connect/{provider}/callback': {
    doc: 'Where a provider sends a user back.',
    takes: {
      ...PROVIDER,
      ...SENT_BACK,
    },
    answers: {
      303: 'To `return_url`, with `error` where nothing was connected.',
      400: 'The state is unknown, used or expired.',
      403: 'Somebody else began this.',
    },
  },
  'GET /connections': {
    doc: 'What the user who is signed in is connected to: a page for browsers, JSON for programs.',
    takes: { error: 'Shown on the page in our words.' },
    answers: {
      200: 'A list with `provider`, `display_name`, `scopes_granted`, `created_at`, `updated_at`; or the page.',
      303: TO_LOGIN,
      401: '`unauthorized`: a program without a session.',
    },
  },
  'POST /connections': {
    doc: 'Ends a connection from the page.',
    takes: { ...PROVIDER, ...FORM },
    answers: { 303: 'Back to the page.', 403: NOT_ITS_FORM },
  },
  'DELETE /connections/{provider}': {
    doc: 'Ends a connection, for a program with the session of the user.',
    takes: PROVIDER,
    answers: { 204: 'Ended.', 401: 'Nobody is signed in.', 404: 'There is no such connection.' },
  },

  'GET /livez': { doc: 'The process lives. Asks nothing.', answers: { 200: '`status` and `time`.' } },
  'GET /health': {
    doc: 'The process and its storage are well; also under overload.',
    answers: { 200: '`status` and `db`.', 503: 'The storage is away.' },
  },
  'GET /ready': {
    doc: 'New requests are welcome.',
    answers: { 200: '`status` and `db`.', 503: 'The storage is away, or the process drains.' },
  },
}

/** By grant_type: what the token endpoint takes beside grant_type and the client. */
export const GRANTS: Readonly<Record<string, { doc: string; takes: Readonly<Record<string, string>> }>> = {
  authorization_code: {
    doc: 'A code for tokens (RFC 6749 §4.1.3). A second use revokes what the first one gave.',
    takes: {
      code: 'Lives 60 seconds. Required.',
      code_verifier: 'PKCE. Required.',
      redirect_uri: 'As in the authorization request, if it was there.',
      resource: 'Must be that of the code.',
    },
  },
  refresh_token: {
    doc: 'A refresh token for new tokens (RFC 6749 §6). Every use replaces it; a second use ends the sign-in.',
    takes: {
      refresh_token: 'Required.',
      scope: 'Less than was granted; for this access token only.',
      resource: 'Must be that of the sign-in.',
    },
  },
  client_credentials: {
    doc: 'A confidential client for itself (RFC 6749 §4.4).',
    takes: { scope: 'Without it all that it may.', resource: 'URI of the resource that the token is for.' },
  },
  'urn:ietf:params:oauth:grant-type:token-exchange': {
    doc: 'A token for another one (RFC 8693): impersonation, or delegation with an actor token. The answer has `issued_token_type`. For a broker resource it is a token of the provider; where the user must connect first it is refused with `consent_required`, which says where.',
    takes: {
      subject_token: 'An access token of this service. Required.',
      subject_token_type: '`urn:ietf:params:oauth:token-type:access_token` or `…:jwt`. Required.',
      actor_token: 'The token of who acts.',
      actor_token_type: 'As `subject_token_type`; required with an actor token.',
      requested_token_type: 'As `subject_token_type`.',
      resource: 'URI of the target; without one the same audience, where `token_exchange.allow_self_exchange` lets it.',
      audience: 'URI or slug of the target; must not differ from `resource`.',
      scope: 'Less than the subject token has.',
    },
  },
  'urn:ietf:params:oauth:grant-type:jwt-bearer': {
    doc: 'An ID-JAG assertion of a trusted identity provider for a token (RFC 7523).',
    takes: {
      assertion: 'Used once. Required.',
      resource: 'URI of the resource; must be one of the assertion, where that names any.',
      scope: 'Less than the client may.',
    },
  },
}
