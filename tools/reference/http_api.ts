// docs/reference/http-api.md: every endpoint of both listeners, from routes, grants and admin operations.

import { loadConfig } from '../../src/config/load.ts'
import type { App } from '../../src/context.ts'
import { publicRoutes } from '../../src/endpoints/routes.ts'
import { grants } from '../../src/grants/index.ts'
import type { Route } from '../../src/http/route.ts'
import { registration } from '../../src/oauth/clients/self_description.ts'
import { SCIM_OPERATIONS } from '../../src/scim/dispatch.ts'
import { adminSections, fieldRows } from './admin_api.ts'
import { ENDPOINTS } from './endpoints.ts'
import { GRANTS } from './grants.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `There are two listeners. The public listener (\`server.address\`, \`:9000\`) is for clients and browsers. The admin listener (\`admin.address\`, \`:9001\`) is for operators. Both use HTTP/1.1. Paths are
relative to the issuer. [Errors](errors.md) describes the error responses: \`401\` has \`WWW-Authenticate\`, \`429\` and \`503\` have \`Retry-After\`, and all have \`request_id\`. Every path that accepts GET also accepts HEAD, except the paths of a sign-in, a sign-out or a connection, whose GET has effects.
Another method gets \`405\` with \`Allow\` (the native engine closes the connection at one that HTTP/1.1 does not define, such as QUERY or PROPFIND), another body type gets \`415\`, and a body above the limit gets \`413\`. [openapi-public.json](openapi-public.json) describes the public listener as an OpenAPI 3.1 document.

"CORS" means that web pages of \`server.allowed_origins\` may call the endpoint. \`rate_limit.*\` limits the requests to the whole public listener, except the probes.`

const ADMIN_INTRO = `Every call needs \`Authorization: Bearer <admin.api_key>\`, or one of \`admin.api_keys\`. Bodies are JSON. \`GET /admin/openapi.json\` has the same description as an OpenAPI 3.1 document, with the
schemas of the responses. The [commands](cli.md) call the same operations. If an operation below has an audit action, it records an [audit event](audit-events.md) of that name.

The admin listener also serves \`GET /metrics\` ([metrics](metrics.md); on the public listener with \`observability.metrics.listener: public\`) and the admin page under \`/admin/ui/\`. Both need no key: the page itself asks for the key.`

/** The public endpoints with the grants below the token endpoint, then the admin operations. */
export function renderHttpApi(): string {
  const routes = describedRoutes()
  return page(
    'HTTP API',
    'src/endpoints/routes.ts, src/grants and src/admin',
    INTRO,
    '## Public listener',
    ...routes.flatMap((route) => [
      ...sectionOf(route),
      ...(route.path === '/oauth/token' ? grantSections() : []),
      ...(route.path === '/oauth/register' ? [fieldTable(fieldRows({ path: '', body: registration }))] : []),
    ]),
    '## Admin listener',
    ADMIN_INTRO,
    ...adminSections(),
  )
}

/** Every route, with all features enabled. Throws if routes and descriptions differ. */
export function describedRoutes(): Route[] {
  const { config } = loadConfig(undefined, {
    SERVICE_AGENTS_ENABLE_JWKS_LISTING: 'true',
    SERVICE_UI_LOGO_FILE: 'logo.svg',
    SERVICE_DEVICE_ENABLED: 'true',
    SERVICE_CIBA_ENABLED: 'true',
    SERVICE_OAUTH_OPENID: 'true',
    SERVICE_ADMIN_SIGN_IN_ENABLED: 'true',
    SERVICE_ADMIN_SIGN_IN_LOCAL: 'true',
    SERVICE_ADMIN_SIGN_IN_URL: 'http://localhost:9001',
  })
  const routes = [...publicRoutes({ config } as App), ...scimDescribed]
  const grantTypes = grants.map(({ type }) => type)
  const apart = [...differ(routes.map(nameOf), Object.keys(ENDPOINTS)), ...differ(grantTypes, Object.keys(GRANTS))]
  if (apart.length > 0) throw new Error(`tools/reference/endpoints.ts and the routes differ: ${apart.join(', ')}`)
  return routes
}
const SCIM_BODY = { type: 'json', limit: 8 * 1024 * 1024 } as const
/** SCIM answers all its paths in one handler. */
const scimDescribed = SCIM_OPERATIONS.map(
  ({ method, path }): Route => ({
    method,
    path,
    handle: () => ({ status: 404, headers: {}, body: '' }),
    ...(['POST', 'PUT', 'PATCH'].includes(method) ? { body: SCIM_BODY } : {}),
  }),
)
export const nameOf = ({ method, path }: Route) => `${method} ${path}`
const differ = (left: readonly string[], right: readonly string[]) => [
  ...left.filter((each) => !right.includes(each)),
  ...right.filter((each) => !left.includes(each)),
]

const BODIES = { form: 'a form', json: 'JSON', any: 'any type' } as const

function sectionOf(route: Route): string[] {
  const { doc, takes = {}, answers } = ENDPOINTS[nameOf(route)] ?? { doc: '', answers: {} }
  const facts = [
    route.body ? `Body: ${BODIES[route.body.type]}, ${route.body.limit / 1024} KiB at most.` : '',
    route.cors ? 'CORS.' : '',
    route.unlimited ? 'Never rate limited.' : '',
  ]
  return [
    `### ${nameOf(route)}`,
    [doc, ...facts].filter(Boolean).join(' '),
    ...parametersOf(takes),
    table(
      ['Status', 'Response'],
      Object.entries(answers).map(([status, answer]) => [status, answer]),
    ),
  ]
}

const parametersOf = (takes: Readonly<Record<string, string>>): string[] => {
  const rows = Object.entries(takes).map(([name, meaning]) => [code(name), meaning])
  return rows.length > 0 ? [table(['Parameter', 'Meaning'], rows)] : []
}

const grantSections = (): string[] =>
  grants.flatMap(({ type, clients, switch: key }) => {
    const { doc, takes } = GRANTS[type] ?? { doc: '', takes: {} }
    const facts = [
      clients === 'confidential' ? 'Confidential clients only.' : '',
      key ? `Enabled by ${code(key)}.` : '',
    ]
    return [`#### ${type}`, [doc, ...facts].filter(Boolean).join(' '), ...parametersOf(takes)]
  })

const fieldTable = (rows: string[][]): string =>
  table(
    ['Member', 'Form', 'Default', 'Meaning'],
    rows.map(([name = '', , form = '', fallback = '', doc = '']) => [name, form, fallback, doc]),
  )
