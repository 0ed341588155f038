// Descriptions of the endpoints that connect users to upstream providers.
import { type Endpoint, FORM, NOT_ITS_FORM } from './endpoint.ts'

/** The parameter of paths that name a provider. */
export const PROVIDER = { provider: 'Slug of the provider.' } as const
/** The parameters of the redirect from a provider. */
export const SENT_BACK = {
  code: 'The authorization code of the provider.',
  state: 'The state that was sent to the provider.',
  error: 'The error, if there is no code.',
} as const

/** By method and path of the route. */
export const CONNECTION_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
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
}
