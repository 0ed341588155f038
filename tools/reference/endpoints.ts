// Descriptions of the public endpoints for docs/reference/http-api.md, in addition to the declarations of their routes. A route without an
// entry, or an entry without a route, stops the generator. test/tools/reference.test.ts compares the parameters with those that the code reads.

import { type Endpoint, FORM, NOT_ITS_FORM, PAGE, TO_LOGIN } from './endpoint.ts'
import { PAGE_ENDPOINTS } from './page_endpoints.ts'
import { SCIM_ENDPOINTS } from './scim_endpoints.ts'
import { STREAM_ENDPOINTS } from './stream_endpoints.ts'

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

const userinfo: Endpoint = {
  doc: 'Claims about the user of an access token with the scope `openid` and without a resource (OpenID Connect Core §5.3). Only with `oauth.openid`. A bound token needs a DPoP proof.',
  answers: {
    200: '`sub`, with `name` for the scope `profile`, and `email` and `email_verified` for the scope `email`.',
    401: '`invalid_token` or `invalid_dpop_proof`: there is no valid token for this endpoint; with a challenge.',
    403: '`insufficient_scope`: the scope `openid` was removed from the consent or from the client after the token was issued.',
  },
}
const endSession: Endpoint = {
  doc: 'Signs the user out (OpenID Connect RP-Initiated Logout 1.0). Only with `oauth.openid`. Without a valid ID token of the signed-in user a page asks for confirmation, and the browser is not redirected.',
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
        'A registered URI, exactly. A registered loopback URI of a public or native client matches any port. Required if several are registered.',
      code_challenge: 'PKCE (RFC 7636). Required.',
      code_challenge_method: '`S256`. Required.',
      scope: 'Names, separated by spaces. Default: all scopes that the client may request.',
      resource: 'URI of the resource that the token is for (RFC 8707). One at most.',
      authorization_details: 'Elements of types that the resource declares, as a JSON array (RFC 9396).',
      request_uri: 'That of a pushed request (RFC 9126). Then only `client_id` counts beside it.',
      state: 'Returned unchanged.',
      prompt: '`none`, `login`, `consent` or `select_account` (OpenID Connect Core §3.1.2.1).',
      nonce: 'Repeated in the ID token. Only with `oauth.openid`.',
      max_age: 'Maximum seconds since the user signed in. Only with `oauth.openid`.',
      acr_values:
        'Authentication context classes of which one is required (RFC 9470). Upstream providers assert them. Only with `oauth.openid`.',
      login_hint: 'Email address for the login page. Only with `oauth.openid`.',
      id_token_hint: 'An ID token of this client: the request is for its user. Only with `oauth.openid`.',
      login_for: 'Set by this service when it redirects to the login page: the login that this request requires.',
      response_mode: '`query` (default), or `form_post`: a page posts the response to the redirect URI.',
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
  'POST /oauth/par': {
    doc: 'Takes an authorization request from its client (RFC 9126), and checks everything that needs no person. The client then sends the browser to the authorization endpoint with `client_id` and the `request_uri`. A browser must open it within 60 s; until the client has its answer it may be opened again. With a `DPoP` header the code is bound to the key of the proof. An assertion may also be for the token endpoint.',
    takes: {
      response_type: 'And all other parameters of an authorization request, but no `request_uri`. Required.',
      ...CLIENT,
    },
    answers: {
      201: '`request_uri`, `expires_in`.',
      400: 'What the authorization endpoint would answer: `invalid_request`, `invalid_scope`, `invalid_target`, `unauthorized_client`, `unsupported_response_type`; also `invalid_dpop_proof`, `use_dpop_nonce`.',
      401: AUTHENTICATION,
      429: 'Too many requests of clients that any program can be, from the same address; with `Retry-After`.',
    },
  },
  'POST /oauth/bc-authorize': {
    doc: 'Asks a person for an approval (CIBA Core §7, [guide](../guides/single-actions.md#4-ask-a-person-who-is-elsewhere)). Only with `ciba.enabled`, and for confidential clients with the grant. The answers do not tell whether the person exists. With a `DPoP` header the tokens are bound to the key of the proof. An assertion may also be for the token endpoint.',
    takes: {
      login_hint: 'Verified email, or id, of a user. This or `id_token_hint` is required.',
      id_token_hint: 'ID token of this service that the client got.',
      scope: 'As in an authorization request.',
      authorization_details: 'As in an authorization request (RFC 9396).',
      resource: 'URI of the resource that the token is for (RFC 8707). One at most.',
      binding_message: 'Message that the person sees: 1 to 128 visible characters.',
      requested_expiry: 'Seconds that the person may take: 10 to 86400. Default: `ciba.expiry`.',
      acr_values: 'Authentication context classes of which the person must reach one.',
      client_notification_token: 'Bearer token of the notification. Required for a client with `ping`.',
      ...CLIENT,
    },
    answers: {
      200: '`auth_req_id`, `expires_in`, `interval`.',
      400: '`invalid_binding_message`, `invalid_authorization_details`, `invalid_scope`, `invalid_target`, `unauthorized_client`, `unmet_authentication_requirements`, `invalid_dpop_proof`, `use_dpop_nonce`, `invalid_request`.',
      401: AUTHENTICATION,
      429: 'The client has ten open requests to this person, or the person has denied five within an hour; with `Retry-After`.',
    },
  },
  'POST /oauth/device_authorization': {
    doc: 'Starts a device authorization (RFC 8628 §3.1). Only with `device.enabled`. With a `DPoP` header the device code is bound to the key of the proof.',
    takes: {
      scope: 'As in an authorization request.',
      authorization_details: 'As in an authorization request (RFC 9396).',
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
    takes: { user_code: 'Code to fill into the form. The user must still submit the form.' },
    answers: { 200: PAGE, 303: TO_LOGIN },
  },
  'POST /device': {
    doc: 'Accepts the user code, in upper or lower case, with or without the hyphen. For each session and each address, ten attempts with unknown codes are answered at once, then one each minute, counted across all instances.',
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
    doc: 'Dynamic client registration (RFC 7591), if `dcr.mode` allows it. Unknown members are ignored, and a member that is null, an empty text or an empty list counts as absent. Unsupported grant types, unsupported response types and unsafe redirect URIs are left out. The response lists what was registered.',
    answers: {
      201: 'The registered metadata, with `client_id`, `client_id_issued_at`, and for a confidential client `client_secret` (shown once) and `client_secret_expires_at`.',
      400: '`invalid_client_metadata` or `invalid_redirect_uri`, with every fault: a member is malformed, or no usable value remains.',
      403: '`access_denied`: only administrators register clients.',
      429: '`slow_down`: too many registrations from this address; with `Retry-After`.',
    },
  },

  ...PAGE_ENDPOINTS,
  ...STREAM_ENDPOINTS,
  ...SCIM_ENDPOINTS,
}
