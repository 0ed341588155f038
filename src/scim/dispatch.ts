// Answers the requests of SCIM: first the key, then the operation. A client without a key learns nothing, not even which paths exist.
import type { App } from '../context.ts'
import type { Reply, Request } from '../http/message.ts'
import type { Method } from '../http/route.ts'
import { type Match, RouteTable } from '../http/route_table.ts'
import { OAuthError } from '../lib/error.ts'
import { PATHS } from '../oauth/metadata.ts'
import { callerFinder, type ScimCaller } from './caller.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import { createGroupOf, deleteGroupOf, listGroupsOf, patchGroup, readGroupById, replaceGroup } from './groups.ts'
import { notThere } from './message.ts'
import { revokeGlobally } from './revocation.ts'
import { createPerson, deletePerson, listPeople, patchPersonById, readPersonById, replacePerson } from './users.ts'

type Handle = (app: App, request: Request, caller: ScimCaller) => Reply | Promise<Reply>
interface Operation {
  name: string
  method: Method
  path: string
  handle: Handle
}

const operation = (name: string, method: Method, path: string, handle: Handle): Operation => ({
  name,
  method,
  path: path === PATHS.globalRevocation ? path : PATHS.scim + path,
  handle,
})

/** Every operation, for the dispatcher and the reference. */
export const SCIM_OPERATIONS: readonly Operation[] = [
  operation('config_read', 'GET', '/ServiceProviderConfig', serviceProviderConfig),
  operation('type_list', 'GET', '/ResourceTypes', resourceTypes.list),
  operation('type_read', 'GET', '/ResourceTypes/{id}', resourceTypes.one),
  operation('schema_list', 'GET', '/Schemas', schemas.list),
  operation('schema_read', 'GET', '/Schemas/{id}', schemas.one),
  operation('user_list', 'GET', '/Users', listPeople),
  operation('user_create', 'POST', '/Users', createPerson),
  operation('user_read', 'GET', '/Users/{id}', readPersonById),
  operation('user_replace', 'PUT', '/Users/{id}', replacePerson),
  operation('user_patch', 'PATCH', '/Users/{id}', patchPersonById),
  operation('user_delete', 'DELETE', '/Users/{id}', deletePerson),
  operation('group_list', 'GET', '/Groups', listGroupsOf),
  operation('group_create', 'POST', '/Groups', createGroupOf),
  operation('group_read', 'GET', '/Groups/{id}', readGroupById),
  operation('group_replace', 'PUT', '/Groups/{id}', replaceGroup),
  operation('group_patch', 'PATCH', '/Groups/{id}', patchGroup),
  operation('group_delete', 'DELETE', '/Groups/{id}', deleteGroupOf),
  operation('global_revocation', 'POST', PATHS.globalRevocation, revokeGlobally),
]

/** The last refusal of a provider is recorded at most once in this time. */
const NOTED_SECONDS = 10

/** Returns the handler of every request of SCIM. Throws the refusals. */
export function scimDispatcher(app: App): (request: Request) => Promise<Reply> {
  const findCaller = callerFinder(app)
  const table = new RouteTable(SCIM_OPERATIONS.map((each) => ({ ...each, handle: unreachable })))
  const noted = new Map<string, number>()

  const noteError = (provider: string, error: unknown): void => {
    const now = app.clock.now()
    if (!(error instanceof OAuthError) || now - (noted.get(provider) ?? 0) < NOTED_SECONDS) return
    noted.set(provider, now)
    // Only the reason: a description may repeat what was sent.
    app.store.noteScimError({ provider, error: `${error.status} ${error.reason}`, now }).catch(() => {})
  }

  return async (request) => {
    let [name, provider] = ['unknown', '']
    const count = (result: string) => app.metrics.count('ext_scim_requests_total', { operation: name, result })
    try {
      const caller = await findCaller(request)
      provider = caller.provider.slug
      const { route, params } = find(table, request)
      const isFound = ({ method, path }: Operation) => method === route.method && path === route.path
      const found = SCIM_OPERATIONS.find(isFound) as Operation
      name = found.name
      const reply = await found.handle(app, Object.assign(request, { params }), caller)
      count('ok')
      return reply
    } catch (error) {
      const status = error instanceof OAuthError ? error.status : 500
      count(status >= 500 ? 'failed' : status === 401 || status === 403 ? 'unauthorized' : 'refused')
      // A look-up that finds nothing is how providers ask.
      if (provider !== '' && status !== 404) noteError(provider, error)
      throw error
    }
  }
}

function unreachable(): never {
  throw new Error('the operation is called in its place')
}

function find(table: RouteTable, { path, method }: Request): Match {
  const methods = table.find(path)
  if (!methods) throw notThere('resource')
  const match = methods.get((method === 'HEAD' ? 'GET' : method) as Method)
  if (match) return match
  const allow = [...methods.keys()].join(', ')
  throw new OAuthError('method_not_allowed', `this path accepts the methods ${allow}`, { headers: { allow } })
}
