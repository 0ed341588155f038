// A row of a route table.
import type { OAuthError } from '../lib/error.ts'
import type { ActivityStep } from '../telemetry/client_activity.ts'
import type { Admission } from './admission.ts'
import type { Reply, Request, RequestHead } from './message.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Route {
  method: Method
  /** `/a/{id}/b`; `{ref...}` at the end takes the rest. */
  path: string
  handle(request: Request): Reply | Promise<Reply>
  /** Type and maximum size of the body in bytes; `optional` where no body is needed. A route without it refuses bodies. */
  body?: { type: 'form' | 'json' | 'any'; limit: number; optional?: boolean }
  /** Browsers of allowed origins may call it. */
  cors?: boolean
  /** Bounds how many are worked on at once; who is refused is so before the body is read. */
  admission?: Admission
  /** Not counted by the limiter: probes. */
  unlimited?: boolean
  /** Refuses a request by its head (throws OAuthError), before its method is checked and its body is read. */
  guard?(head: RequestHead): void
  /** Which step on the way of a client it is. */
  step?: ActivityStep
  /** Renders errors otherwise than as a problem document: pages. */
  renderError?(error: OAuthError, request: Request): Reply
}
