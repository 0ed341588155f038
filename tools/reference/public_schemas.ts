// The JSON bodies of the public endpoints, requests and answers, for docs/reference/openapi-public.json. A schema of an answer states the
// members that clients rely on. The answers of a running service are checked against them (test/tools/api_document.test.ts).
import { z } from 'zod'
import { streamBody, streamPatch, streamPollBody, streamStatusBody, streamVerifyBody } from '../../src/endpoints/ssf.ts'
import { STREAM_STATUSES } from '../../src/events/stream.ts'
import { registration } from '../../src/oauth/clients/self_description.ts'

interface Schemas {
  /** The JSON body. */
  body?: z.ZodType
  /** The JSON answers by status. */
  answers?: Readonly<Record<number, z.ZodType>>
}

const texts = z.array(z.string())
const uri = z.url()
const count = z.int().min(0)

const serverMetadata = z.looseObject({
  issuer: uri,
  authorization_endpoint: uri,
  token_endpoint: uri,
  registration_endpoint: uri,
  revocation_endpoint: uri,
  introspection_endpoint: uri,
  jwks_uri: uri,
  response_types_supported: texts,
  grant_types_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  code_challenge_methods_supported: texts,
  scopes_supported: texts.optional(),
})
const resourceMetadata = z.looseObject({
  resource: uri,
  authorization_servers: z.array(uri),
  bearer_methods_supported: texts,
  scopes_supported: texts.optional(),
  resource_name: z.string().optional(),
})
const jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string(), alg: z.string() })) })
const agents = z.object({
  issuer: uri,
  agents: z.array(
    z.object({
      agent_id: z.string(),
      client_name: z.string(),
      agent_description: z.string().optional(),
      jwks_uri: uri,
    }),
  ),
})

const token = z.object({
  access_token: z.string(),
  token_type: z.enum(['Bearer', 'DPoP']),
  expires_in: count,
  scope: z.string().optional(),
  refresh_token: z.string().optional(),
  id_token: z.string().optional(),
  issued_token_type: z.string().optional(),
})
const deviceCodes = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: uri,
  verification_uri_complete: uri,
  expires_in: count,
  interval: count,
})
const introspection = z.looseObject({
  active: z.boolean(),
  iss: z.string().optional(),
  sub: z.string().optional(),
  client_id: z.string().optional(),
  scope: z.string().optional(),
  aud: z.string().optional(),
  exp: count.optional(),
  iat: count.optional(),
  jti: z.string().optional(),
  token_type: z.enum(['Bearer', 'DPoP']).optional(),
})
const userinfo = z.looseObject({
  sub: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
})
const registered = z.looseObject({
  client_id: z.string(),
  client_id_issued_at: count,
  client_secret: z.string().optional(),
  client_secret_expires_at: count.optional(),
  client_name: z.string(),
  redirect_uris: texts,
  grant_types: texts,
  response_types: texts,
  token_endpoint_auth_method: z.string(),
})

const delivers = z.object({ status: z.enum(STREAM_STATUSES), events: texts, resources: texts, version: z.string() })
const stream = z.object({
  stream_id: z.string(),
  iss: uri,
  aud: z.string(),
  delivery: z.object({ method: z.string(), endpoint_url: uri }),
  events_supported: texts,
  events_requested: texts,
  events_delivered: texts,
  description: z.string().optional(),
})
const streamStatus = z.object({
  stream_id: z.string(),
  status: z.enum(STREAM_STATUSES),
  reason: z.string().optional(),
})
const polled = z.object({ sets: z.record(z.string(), z.string()), moreAvailable: z.boolean().optional(), delivers })
const transmitter = z.looseObject({
  issuer: uri,
  jwks_uri: uri,
  delivery_methods_supported: texts,
  configuration_endpoint: uri,
  status_endpoint: uri,
  verification_endpoint: uri,
})

const connections = z.array(
  z.object({
    provider: z.string(),
    display_name: z.string(),
    scopes_granted: texts,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  }),
)
const alive = z.object({ status: z.string(), time: z.iso.datetime() })
const probe = alive.extend({ db: z.enum(['ok', 'error']), reason: z.string().optional() })
const probes = { 200: probe, 503: probe }

/** By method and path of the route. A successful answer without a schema is a page, a redirect or empty. */
export const PUBLIC_SCHEMAS: Readonly<Record<string, Schemas>> = {
  'GET /.well-known/oauth-authorization-server': { answers: { 200: serverMetadata } },
  'GET /.well-known/openid-configuration': { answers: { 200: serverMetadata } },
  'GET /.well-known/oauth-protected-resource': { answers: { 200: resourceMetadata } },
  'GET /.well-known/oauth-protected-resource/{ref...}': { answers: { 200: resourceMetadata } },
  'GET /.well-known/jwks.json': { answers: { 200: jwks } },
  'GET /.well-known/agents.json': { answers: { 200: agents } },
  'GET /.well-known/ssf-configuration': { answers: { 200: transmitter } },
  'POST /oauth/token': { answers: { 200: token } },
  'POST /oauth/par': { answers: { 201: z.object({ request_uri: z.string(), expires_in: z.number() }) } },
  'POST /oauth/bc-authorize': {
    answers: { 200: z.object({ auth_req_id: z.string(), expires_in: count, interval: count }) },
  },
  'POST /oauth/device_authorization': { answers: { 200: deviceCodes } },
  'POST /oauth/introspect': { answers: { 200: introspection } },
  'GET /oauth/userinfo': { answers: { 200: userinfo } },
  'POST /oauth/userinfo': { answers: { 200: userinfo } },
  'POST /oauth/register': { body: registration, answers: { 201: registered } },
  'POST /ssf/streams': { body: streamBody, answers: { 201: stream } },
  'GET /ssf/streams': {
    answers: { 200: z.union([stream.extend({ delivers: delivers.optional() }), z.array(stream)]) },
  },
  'PATCH /ssf/streams': { body: streamPatch, answers: { 200: stream } },
  'PUT /ssf/streams': { body: streamPatch, answers: { 200: stream } },
  'GET /ssf/status': { answers: { 200: streamStatus } },
  'POST /ssf/status': { body: streamStatusBody, answers: { 200: streamStatus } },
  'POST /ssf/verify': { body: streamVerifyBody },
  'POST /ssf/poll/{id}': { body: streamPollBody, answers: { 200: polled } },
  'GET /connections': { answers: { 200: connections } },
  'GET /livez': { answers: { 200: alive } },
  'GET /health': { answers: probes },
  'GET /ready': { answers: probes },
}
