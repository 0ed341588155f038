// docs/reference/http-api.md: every endpoint of both listeners, from routes, grants and admin operations.

import { loadConfig } from '../../src/config/load.ts'
import type { App } from '../../src/context.ts'
import { publicRoutes } from '../../src/endpoints/routes.ts'
import { grants } from '../../src/grants/index.ts'
import type { Route } from '../../src/http/route.ts'
import { registration } from '../../src/oauth/self_description.ts'
import { adminSections, fieldRows } from './admin_api.ts'
import { ENDPOINTS } from './endpoints.ts'
import { GRANTS } from './grants.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Two listeners: the public one (\`server.address\`, \`:9000\`) for clients and browsers, the admin one (\`admin.address\`, \`:9001\`) for operators. Both speak HTTP/1.1; paths are
below the issuer. Refusals are those of [errors.md](errors.md): \`401\` has \`WWW-Authenticate\`, \`429\` and \`503\` have \`Retry-After\`, every one has \`request_id\`. Every path that takes GET takes HEAD;
another method is \`405\` with \`Allow\`, another body type \`415\`, a larger body \`413\`.

"CORS" means that browsers at \`server.allowed_origins\` may call it. The public listener as a whole is limited by \`rate_limit.*\`, but for the probes.`

const ADMIN_INTRO = `Every call needs \`Authorization: Bearer <admin.api_key>\`, or one of \`admin.api_keys\`. Bodies are JSON. \`GET /admin/openapi.json\` is the same as an OpenAPI 3.1 document, with the
schemas of the answers. The [commands](cli.md) do the same. What names an audit action leaves an event of that name ([audit events](audit-events.md)).

Beside these: \`GET /metrics\` ([metrics](metrics.md); on the public listener with \`observability.metrics.listener: public\`) and the admin page under \`/admin/ui/\`, both without a key: the page asks for it.`

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

/** Every route with everything on. Throws where routes and descriptions differ. */
function describedRoutes(): Route[] {
  const { config } = loadConfig(undefined, { SERVICE_AGENTS_ENABLE_JWKS_LISTING: 'true' })
  const routes = publicRoutes({ config } as App)
  const grantTypes = grants.map(({ type }) => type)
  const apart = [...differ(routes.map(nameOf), Object.keys(ENDPOINTS)), ...differ(grantTypes, Object.keys(GRANTS))]
  if (apart.length > 0) throw new Error(`tools/reference/endpoints.ts and the routes differ: ${apart.join(', ')}`)
  return routes
}
const nameOf = ({ method, path }: Route) => `${method} ${path}`
const differ = (left: readonly string[], right: readonly string[]) => [
  ...left.filter((each) => !right.includes(each)),
  ...right.filter((each) => !left.includes(each)),
]

const BODIES = { form: 'a form', json: 'JSON', any: 'anything' } as const

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
      ['Status', 'Answer'],
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
      key ? `Switched by ${code(key)}.` : '',
    ]
    return [`#### ${type}`, [doc, ...facts].filter(Boolean).join(' '), ...parametersOf(takes)]
  })

const fieldTable = (rows: string[][]): string =>
  table(
    ['Member', 'Form', 'Default', 'Meaning'],
    rows.map(([name = '', , form = '', fallback = '', doc = '']) => [name, form, fallback, doc]),
  )
