// The parameters of each grant at the token endpoint, for the HTTP reference.

/** Parameters of the token endpoint by grant_type, in addition to grant_type and the client. */
export const GRANTS: Readonly<Record<string, { doc: string; takes: Readonly<Record<string, string>> }>> = {
  authorization_code: {
    doc: 'Exchanges a code for tokens (RFC 6749 §4.1.3). A second use revokes the tokens of the first use.',
    takes: {
      code: 'The code, valid for `oauth.code_expiry`. Required.',
      code_verifier: 'PKCE. Required.',
      redirect_uri: 'The same as in the authorization request, if it was sent there.',
      resource: 'The resource of the code.',
      authorization_details: 'Some of the granted elements (RFC 9396), for this access token only.',
    },
  },
  refresh_token: {
    doc: 'Exchanges a refresh token for new tokens (RFC 6749 §6). Every use replaces it. A second use revokes its family.',
    takes: {
      refresh_token: 'The refresh token. Required.',
      scope: 'A subset of the granted scopes, for this access token only.',
      resource: 'The resource of the refresh token.',
      authorization_details: 'Some of the granted elements (RFC 9396), for this access token only.',
    },
  },
  client_credentials: {
    doc: 'Issues a token to a confidential client on its own behalf (RFC 6749 §4.4).',
    takes: {
      scope: 'Default: all scopes that the client may request.',
      resource: 'URI of the resource that the token is for.',
      authorization_details: 'Elements of types that the resource declares (RFC 9396).',
    },
  },
  'urn:ietf:params:oauth:grant-type:token-exchange': {
    doc: 'Exchanges a token (RFC 8693): impersonation, or delegation with an actor token. The response has `issued_token_type`. For a broker resource it contains a token of the provider. If the user must connect first, the request is refused with `consent_required` and the URL to connect at.',
    takes: {
      subject_token:
        'An access token of this service, or an access token or ID token of an identity provider with `subject_tokens`. Required.',
      subject_token_type:
        '`urn:ietf:params:oauth:token-type:access_token` or `…:jwt`; for an ID token of an identity provider `…:id_token`. Required.',
      actor_token: 'The token of the actor.',
      actor_token_type: '`…:access_token` or `…:jwt`; required with an actor token.',
      requested_token_type: '`…:access_token` or `…:jwt`.',
      resource: 'URI of the target. Default: the same audience, if `token_exchange.allow_self_exchange` permits it.',
      authorization_details:
        'Some of the elements of the subject token (RFC 9396). Default: those whose types the target declares.',
      audience: 'URI or slug of the target; must not differ from `resource`.',
      scope:
        'A subset of the scopes of the subject token; for a token of an identity provider, scopes of the resource that its policies allow.',
    },
  },
  'urn:ietf:params:oauth:grant-type:jwt-bearer': {
    doc: 'Exchanges an ID-JAG assertion of a trusted identity provider for a token (RFC 7523).',
    takes: {
      assertion: 'The assertion, which can be used once. Required.',
      resource: 'URI of the resource. It must be named in the assertion if the assertion names resources.',
      scope: 'A subset of the scopes that the client may request.',
    },
  },
  'urn:ietf:params:oauth:grant-type:device_code': {
    doc: 'Exchanges an approved device code for tokens (RFC 8628 §3.4). Before the decision of the user the answer is `authorization_pending`, or `slow_down` when the device sends requests too often; after a denial it is `access_denied`, and after the lifetime of the code `expired_token`. A second use revokes the tokens of the first use.',
    takes: {
      device_code: 'The device code. Required.',
      resource: 'The resource of the device authorization request.',
      authorization_details: 'Some of the granted elements (RFC 9396), for this access token only.',
    },
  },
  'urn:openid:params:grant-type:ciba': {
    doc: 'Exchanges the `auth_req_id` of an allowed approval for tokens (CIBA Core §10.1). Before the decision of the person the answer is `authorization_pending`, or `slow_down` when the client polls too often; after a denial it is `access_denied`, and after the lifetime of the request `expired_token`. A second use is refused.',
    takes: {
      auth_req_id: 'The `auth_req_id`. Required.',
      resource: 'The resource of the request.',
      authorization_details: 'Some of the granted elements (RFC 9396), for this access token only.',
    },
  },
}
