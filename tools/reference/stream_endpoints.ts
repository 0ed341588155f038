// Descriptions of the endpoints of shared signals for docs/reference/http-api.md.
import type { Endpoint } from './endpoint.ts'

const CALLER =
  'The caller authenticates with its client credentials (Basic), or with an own access token for this service with the scope `ssf.manage`.'
const ERRORS = {
  401: '`invalid_client` or `invalid_token`: the authentication failed.',
  403: '`access_denied`: the client is on the runtime list of no resource. `insufficient_scope`: the token does not have the scope.',
} as const
const UNKNOWN = '`not_found`: the client has no such stream.'
const STREAM =
  'The stream: `stream_id`, `iss`, `aud`, `delivery`, `events_supported`, `events_requested`, `events_delivered`.'

export const STREAM_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /.well-known/ssf-configuration': {
    doc: 'The configuration of the transmitter of shared signals (OpenID SSF 1.0 §7). If the issuer has a path, the path may also follow the name.',
    answers: { 200: 'The document. It may be cached for an hour.' },
  },
  'POST /ssf/streams': {
    doc: `Creates a stream for the caller, a resource server. ${CALLER} Body: \`delivery\`, \`events_requested\`, \`description\` as JSON; without \`delivery\` the stream is polled.`,
    answers: { 201: STREAM, 400: '`invalid_request`.', ...ERRORS, 409: '`conflict`: the client has too many streams.' },
  },
  'GET /ssf/streams': {
    doc: `Shows a stream of the caller, or without \`stream_id\` a list of all. ${CALLER}`,
    takes: {
      stream_id: 'Id of the stream.',
      delivers: '`true`: the stream has the member `delivers`, as the answer to a poll has it.',
    },
    answers: { 200: STREAM, ...ERRORS, 404: UNKNOWN },
  },
  'PATCH /ssf/streams': {
    doc: `Changes the members of a stream that the JSON body names beside \`stream_id\`. ${CALLER}`,
    answers: { 200: STREAM, 400: '`invalid_request`.', ...ERRORS, 404: UNKNOWN },
  },
  'PUT /ssf/streams': {
    doc: `Replaces the members of a stream. A member that the JSON body does not name gets its default, except \`delivery\`. ${CALLER}`,
    answers: { 200: STREAM, 400: '`invalid_request`.', ...ERRORS, 404: UNKNOWN },
  },
  'DELETE /ssf/streams': {
    doc: `Deletes a stream. ${CALLER}`,
    takes: { stream_id: 'Id of the stream.' },
    answers: { 204: 'Deleted.', ...ERRORS, 404: UNKNOWN },
  },
  'GET /ssf/status': {
    doc: `Shows the status of a stream. ${CALLER}`,
    takes: { stream_id: 'Id of the stream.' },
    answers: { 200: '`stream_id`, `status` (`enabled`, `paused` or `disabled`), `reason`.', ...ERRORS, 404: UNKNOWN },
  },
  'POST /ssf/status': {
    doc: `Changes the status of a stream: \`stream_id\`, \`status\` and \`reason\` as JSON. While a stream is not enabled, events wait for \`events.retention\`. ${CALLER}`,
    answers: { 200: 'The status.', 400: '`invalid_request`.', ...ERRORS, 404: UNKNOWN },
  },
  'POST /ssf/verify': {
    doc: `Requests a verification event with the \`state\` of the JSON body. ${CALLER}`,
    answers: { 204: 'The event follows on the stream.', 400: '`invalid_request`.', ...ERRORS, 404: UNKNOWN },
  },
  'POST /ssf/poll/{id}': {
    doc: `Returns the security event tokens of a stream that were not acknowledged, oldest first (RFC 8936). JSON body: \`maxEvents\` (at most 100), \`returnImmediately\`, \`ack\`, \`setErrs\`. Without \`returnImmediately\` the answer comes with the next event, when \`delivers\` changes, or after 20 seconds. ${CALLER}`,
    answers: {
      200: '`sets`: the tokens by `jti`; `moreAvailable` if there are more; `delivers`: the `status` of the stream, the types of `events` and the URIs of `resources` that it delivers, and a `version` that changes with every change of these.',
      400: '`invalid_request`: also if the events of the stream are pushed.',
      ...ERRORS,
      404: UNKNOWN,
      409: '`conflict`: the stream is paused or disabled.',
    },
  },
}
