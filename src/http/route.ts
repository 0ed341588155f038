// A route: one row of a route table.
import type { OAuthError } from '../lib/error.ts'
import type { ActivityStep } from '../telemetry/client_activity.ts'
import type { Admission } from './admission.ts'
import type { Reply, Request, RequestHead } from './message.ts'

/** The methods that routes have. */
export const ROUTE_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof ROUTE_METHODS)[number]

export interface Route {
  method: Method
  /** Such as `/a/{id}/b`. `{ref...}` at the end matches the rest of the path. */
  path: string
  handle(request: Request): Reply | Promise<Reply>
  /** Type and maximum size of the body in bytes; `optional` where no body is needed. A route without it refuses bodies. */
  body?: { type: 'form' | 'json' | 'any'; limit: number; optional?: boolean }
  /** Whether a GET has effects: HEAD is refused, because link checkers and scanners send it. */
  hasEffects?: boolean
  /** Whether browsers of allowed origins may call it. */
  cors?: boolean
  /** Limits the requests in progress. A request is refused before its body is read. */
  admission?: Admission
  /** Whether the rate limit does not count it: health probes. */
  unlimited?: boolean
  /**
   * Refuses a request by its head: throws OAuthError, before the method is checked and the body is read. It returns a promise on node:http
   * only.
   */
  guard?(head: RequestHead): Promise<void> | undefined
  /** The step that a request of this route adds to the client activity. */
  step?: ActivityStep
  /** Whether its errors are application/json for a request without Accept header. */
  hasJsonErrors?(request: Request): boolean
  /** The form of every refusal, also of those before the handler, in place of a problem document. */
  renderProblem?(error: OAuthError): Reply
  /** Renders an error; a problem document without it. Used by pages. */
  renderError?(error: OAuthError, request: Request): Reply
}
