// The routes of SCIM and of global token revocation, while scim.enabled is true. What answers them is loaded with the first request.
import type { App } from '../context.ts'
import type { Reply, Request } from '../http/message.ts'
import { type Method, ROUTE_METHODS, type Route } from '../http/route.ts'
import { PATHS } from '../oauth/metadata.ts'
import { scimError } from './message.ts'

/** Maximum bytes of a body. A group with 10,000 members has about one megabyte. */
export const MAX_SCIM_BODY = 8 * 1024 * 1024
const BODY = { type: 'any', limit: MAX_SCIM_BODY, optional: true } as const

/** The routes that the configuration enables. */
export function scimRoutes(app: App): Route[] {
  if (!app.config.scim.enabled) return []
  let dispatch: Promise<(request: Request) => Promise<Reply>> | undefined
  const load = async () => (await import('./dispatch.ts')).scimDispatcher(app)
  const handle = async (request: Request): Promise<Reply> => {
    dispatch ??= load()
    return (await dispatch)(request)
  }
  const at = (path: string, method: Method): Route => ({
    method,
    path,
    handle,
    ...(method === 'GET' ? {} : { body: BODY }),
    renderProblem: scimError,
  })
  return [
    ...ROUTE_METHODS.flatMap((method) => [at(PATHS.scim, method), at(`${PATHS.scim}/{rest...}`, method)]),
    { ...at(PATHS.globalRevocation, 'POST'), body: { type: 'any', limit: 64 * 1024, optional: true } },
  ]
}
