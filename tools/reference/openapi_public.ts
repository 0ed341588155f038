// docs/reference/openapi-public.json: the endpoints of the public listener as an OpenAPI 3.1 document, from the same declarations as
// docs/reference/http-api.md.
import { inputSchema, LICENSE, outputSchema, PROBLEM_CONTENT } from '../../src/admin/openapi.ts'
import { grants } from '../../src/grants/index.ts'
import type { Route } from '../../src/http/route.ts'
import { readBuild } from '../../src/lib/build.ts'
import { SCIM_TYPE } from '../../src/scim/message.ts'
import type { Endpoint } from './endpoint.ts'
import { ENDPOINTS } from './endpoints.ts'
import { GRANTS } from './grants.ts'
import { describedRoutes, nameOf } from './http_api.ts'
import { PUBLIC_SCHEMAS } from './public_schemas.ts'

type Parameters = NonNullable<Endpoint['takes']>

/** The groups of the document by the beginning of the path; the first that fits. */
const TAGS: readonly { name: string; description: string; paths: readonly string[] }[] = [
  { name: 'metadata', description: 'Metadata documents and public keys.', paths: ['/.well-known/'] },
  { name: 'scim', description: 'People and groups of an upstream provider.', paths: ['/scim/', '/oauth/global'] },
  { name: 'oauth', description: 'OAuth 2.1 and OpenID Connect.', paths: ['/oauth/'] },
  { name: 'signals', description: 'Shared signals for resource servers.', paths: ['/ssf/'] },
  { name: 'health', description: 'Probes.', paths: ['/livez', '/health', '/ready'] },
  { name: 'pages', description: 'Pages and forms for users, and the redirects of upstream providers.', paths: ['/'] },
]

/** The document as JSON text. Throws if a schema is for a route that does not exist. */
export function renderPublicOpenApi(): string {
  const paths: Record<string, Record<string, object>> = {}
  const routes = describedRoutes()
  const names = routes.map(nameOf)
  const stray = Object.keys(PUBLIC_SCHEMAS).filter((name) => !names.includes(name))
  if (stray.length > 0) throw new Error(`tools/reference/public_schemas.ts has no route for ${stray.join(', ')}`)
  for (const route of routes) {
    const path = route.path.replace('...}', '}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Public API', version: readBuild().version, license: LICENSE },
    servers: [
      { url: '{issuer}', variables: { issuer: { default: 'http://localhost:9000', description: 'server.issuer' } } },
    ],
    security: [{}],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, responses: { Problem, PageProblem, ScimProblem } },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

const SECURITY_SCHEMES = {
  client: { type: 'http', scheme: 'basic', description: 'client_id and client_secret, each form-encoded.' },
  token: { type: 'http', scheme: 'bearer', description: 'An access token. The scheme of a bound token is DPoP.' },
}
const headerOf = (description: string) => ({ description, schema: { type: 'string' } })
const HTML = { 'text/html': { schema: { type: 'string' } } }
const Problem = {
  description: 'A refusal.',
  headers: {
    'WWW-Authenticate': headerOf('How to authenticate. Only with 401.'),
    'Retry-After': headerOf('Seconds to wait. Only with 429 and 503.'),
  },
  content: PROBLEM_CONTENT,
}
/** Browsers get a page, programs a problem document. */
const PageProblem = { ...Problem, content: { ...PROBLEM_CONTENT, ...HTML } }
/** SCIM has a form of its own (RFC 7644 §3.12), except for what the router refuses. */
const ScimProblem = { ...Problem, content: { ...PROBLEM_CONTENT, [SCIM_TYPE]: { schema: { type: 'object' } } } }

function operationOf(route: Route): object {
  const { doc, takes = {}, answers } = ENDPOINTS[nameOf(route)] ?? { doc: '', answers: {} }
  const inPath = [...route.path.matchAll(/\{(\w+)(?:\.\.\.)?\}/g)].map(([, name = '']) => name)
  const ofBody = Object.fromEntries(Object.entries(takes).filter(([name]) => !inPath.includes(name)))
  const inQuery = route.body ? {} : ofBody
  const parameters = [
    ...inPath.map((name) => parameterOf('path', name, takes[name])),
    ...Object.entries(inQuery).map(([name, meaning]) => parameterOf('query', name, meaning)),
  ]
  const body = bodyOf(route, ofBody)
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\W+/g, '_').replace(/_$/, '')}`,
    tags: [TAGS.find(({ paths }) => paths.some((start) => route.path.startsWith(start)))?.name],
    summary: doc.split(/(?<=\.) (?=[A-Z])/)[0],
    description: doc,
    ...securityOf(route, takes),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses: responsesOf(route, answers),
  }
}

const parameterOf = (place: 'path' | 'query', name: string, meaning = '') => ({
  name,
  in: place,
  required: place === 'path' || isRequired(meaning),
  description: meaning,
  schema: { type: 'string', minLength: 1 },
})

/** The meaning of a required parameter ends with this word. */
const isRequired = (meaning: string) => meaning.endsWith(' Required.')

/** Clients authenticate where the parameters name an assertion, receivers of shared signals in the header, and a token is the subject of userinfo. */
function securityOf({ path }: Route, takes: Parameters): object {
  if ('client_assertion' in takes) return { security: [{ client: [] }, {}] }
  if (path.startsWith('/ssf/')) return { security: [{ client: [] }, { token: [] }] }
  return path === '/oauth/userinfo' ? { security: [{ token: [] }, {}] } : {}
}

function bodyOf(route: Route, takes: Parameters): object | undefined {
  if (!route.body) return undefined
  const { type, optional = false } = route.body
  const { body } = PUBLIC_SCHEMAS[nameOf(route)] ?? {}
  if (type === 'json')
    return { required: !optional, content: { 'application/json': { schema: body ? inputSchema(body) : {} } } }
  const schema = route.path === '/oauth/token' ? tokenForm(takes) : formOf(takes)
  return { required: !optional, content: { 'application/x-www-form-urlencoded': { schema } } }
}

const formOf = (takes: Parameters) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(takes).map(([name, description]) => [name, { type: 'string', description }]),
  ),
  required: Object.keys(takes).filter((name) => isRequired(takes[name] ?? '')),
})

/** One form for each grant. */
const tokenForm = ({ grant_type = '', ...client }: Parameters) => ({
  oneOf: grants.map(({ type }) => {
    const { doc, takes } = GRANTS[type] ?? { doc: '', takes: {} }
    const form = formOf({ ...takes, ...client })
    return {
      ...form,
      description: doc,
      properties: { grant_type: { const: type, description: grant_type }, ...form.properties },
      required: ['grant_type', ...form.required],
    }
  }),
})

/** The refusals that the router gives every request of a route. */
const refusalsOf = ({ method, body, unlimited, path }: Route): Record<string, string> => ({
  400: 'The request is malformed.',
  ...(body && !body.optional ? { 411: 'The request does not state the length of its body.' } : {}),
  ...(method === 'GET' ? {} : { 413: 'The body is too large.' }),
  ...(body ? { 415: 'The body has another type or an encoding.' } : {}),
  ...(unlimited ? {} : { 429: '`slow_down`: too many requests.' }),
  431: 'The head of the request is too large.',
  ...(path === '/livez'
    ? {}
    : { 503: '`temporarily_unavailable`: the storage is unavailable, or the service is overloaded.' }),
})

function responsesOf(route: Route, answers: Endpoint['answers']): object {
  const all = { ...refusalsOf(route), ...answers }
  return Object.fromEntries(
    Object.entries(all).map(([status, description]) => [status, responseOf(route, Number(status), description)]),
  )
}

function problemOf({ renderError, path }: Route): string {
  if (path.startsWith('/scim/') || path === '/oauth/global-token-revocation') return 'ScimProblem'
  return renderError ? 'PageProblem' : 'Problem'
}

function responseOf(route: Route, status: number, description: string): object {
  const answer = PUBLIC_SCHEMAS[nameOf(route)]?.answers?.[status]
  if (answer) return { description, content: { 'application/json': { schema: outputSchema(answer) } } }
  if (status >= 400) return { $ref: `#/components/responses/${problemOf(route)}`, description }
  if (status === 302 || status === 303)
    return { description, headers: { Location: headerOf('Where the browser goes.') } }
  return route.renderError && status === 200 ? { description, content: HTML } : { description }
}
