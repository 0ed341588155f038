// The routes of the admin listener: the admin operations, which need an API key, the metrics, and the page.
import type { App } from '../context.ts'
import { compressed } from '../http/compressed.ts'
import { empty, json, NO_STORE, parseJson, parseParams, type Reply, type Request } from '../http/message.ts'
import { ROUTE_METHODS, type Route } from '../http/route.ts'
import { OAuthError } from '../lib/error.ts'
import { sentBy } from '../oauth/audit.ts'
import type { Capability } from '../records/api_key.ts'
import type { OnProgress } from '../records/job.ts'
import { type Action, type AdminResource, type Caller, neededFor, type SearchPlace, TOOL_HEADER } from './action.ts'
import { jsonLines } from './export.ts'
import { createGatekeeper, type Gatekeeper } from './gatekeeper.ts'
import { adminResources } from './index.ts'
import { answerMsOf, resultOrJob } from './jobs.ts'
import { LINES_TYPE, operationIdOf, presentResources } from './openapi.ts'
import { pageRoutes } from './page.ts'
import { signInRoutes } from './people/sign_in.ts'
import { perform, type RawInput } from './perform.ts'

const MAX_BODY = 1024 * 1024

/** The routes of the admin listener that the configuration enables. */
export function adminRoutes(app: App): Route[] {
  const gatekeeper = createGatekeeper(app)
  const present = presentResources(adminResources, app.config)
  const actions = present.flatMap((resource) => Object.values(resource.actions))
  const tools = new Set(actions.flatMap(({ tool }) => tool?.name ?? []))
  return [
    ...pageRoutes(),
    ...signInRoutes(app, gatekeeper),
    offeredRoute(present, gatekeeper),
    ...actions.map((action) => routeOf(app, action, gatekeeper, tools)),
    ...unknownPaths(gatekeeper.guard('viewer')),
  ]
}

/** For the page: which operations there are, by the capability that they need. Their description is far longer. */
function offeredRoute(present: readonly AdminResource[], { guard }: Gatekeeper): Route {
  const offered: Partial<Record<Capability, string[]>> = {}
  for (const resource of present)
    for (const [word, each] of Object.entries(resource.actions)) {
      offered[neededFor(each)] ??= []
      offered[neededFor(each)]?.push(operationIdOf(resource, word))
    }
  return {
    method: 'GET',
    path: '/admin/ui/operations',
    guard: guard('viewer'),
    handle: () => json(200, offered, NO_STORE),
  }
}

const routeOf = (app: App, action: Action, { guard, operatorOf }: Gatekeeper, tools: ReadonlySet<string>): Route => ({
  method: action.method,
  path: action.path,
  guard: guard(neededFor(action)),
  ...(action.method === 'GET'
    ? {}
    : { body: { type: 'json', limit: MAX_BODY, optional: action.bodyOptional ?? action.body === undefined } }),
  async handle(request) {
    const { actor_id, capability } = operatorOf(request)
    const input = { params: request.params, query: queryOf(request), body: bodyOf(action, request) }
    const tool = request.headers[TOOL_HEADER]
    const isTool = tool !== undefined && tools.has(tool)
    if (isTool) app.metrics.count('ext_mcp_calls_total', { tool })
    const caller: Caller = { actor_id, capability, ...sentBy(request), ...(isTool ? { via: 'mcp' } : {}) }
    const work = (onProgress?: OnProgress) => perform(app, action, input, caller, onProgress)
    const done = action.long
      ? await resultOrJob(
          app,
          { operation: `${request.method} ${request.path}`, actor_id },
          work,
          answerMsOf(request.headers.prefer),
        )
      : { result: await work() }
    if ('job' in done) return accepted(done.job)
    const { shown, dry, next } = done.result
    if (action.lines) return linesOf(shown as AsyncIterable<unknown>)
    if (action.status === 204) return empty(204, NO_STORE)
    const headers = next ? { ...NO_STORE, link: linkTo(request, next) } : NO_STORE
    const reply = json(dry ? 200 : action.status, shown, headers)
    // An answer to a change can contain a secret beside texts of others, whose length compression would reveal.
    return action.method === 'GET' ? compressed(reply, request) : reply
  },
})

/** The request that continues a search (RFC 8288). */
const linkTo = (request: Request, { after, offset }: SearchPlace): string => {
  const query = new URLSearchParams({ ...queryOf(request), after, offset: String(offset) })
  return `<${request.path}?${query}>; rel="next"`
}

/** The request continues as a job, which Location names (RFC 9110 §15.3.3). */
const accepted = (job: { id: string }): Reply => json(202, job, { ...NO_STORE, location: `/admin/jobs/${job.id}` })

/** The query parameters. An empty one stays, so that it is refused: a filter without a value would list everything. */
const queryOf = ({ query }: Request): Record<string, string> =>
  Object.fromEntries(Object.entries(parseParams(query)).map(([name, value]) => [name, value ?? '']))

/** The JSON object of a request, for an operation that reads one. */
const bodyOf = ({ body, bodyOptional }: Action, request: Request): RawInput['body'] =>
  body && !(bodyOptional && request.body.length === 0) ? parseJson(request) : undefined

const linesOf = (rows: AsyncIterable<unknown>): Reply => ({
  status: 200,
  headers: { 'content-type': LINES_TYPE, ...NO_STORE },
  body: '',
  stream: jsonLines(rows),
})

/** Without a key, a caller cannot learn which paths exist. */
const unknownPaths = (guard: Route['guard']): Route[] =>
  ['/admin', '/admin/', '/admin/{rest...}'].flatMap((path) =>
    ROUTE_METHODS.map((method) => ({
      method,
      path,
      guard,
      ...(method === 'GET' ? {} : { body: { type: 'any', limit: MAX_BODY } }),
      handle() {
        throw new OAuthError('not_found', 'no resource exists at this path')
      },
    })),
  )
