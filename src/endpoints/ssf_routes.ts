// The routes of the transmitter of shared signals.
import type { App } from '../context.ts'
import { SSF_PATHS } from '../events/stream.ts'
import type { Reply, Request } from '../http/message.ts'
import type { Route } from '../http/route.ts'
import { basePath } from './pages/urls.ts'
import {
  changeOwnStream,
  changeStreamStatus,
  createOwnStream,
  deleteOwnStream,
  pollStream,
  readOwnStreams,
  readStreamStatus,
  ssfConfiguration,
  verifyStream,
} from './ssf.ts'

const BODY = { type: 'json', limit: 64 * 1024 } as const
const CONFIGURATION = '/.well-known/ssf-configuration'

/** The routes. A transmitter whose issuer has a path is looked for in its own way (OpenID SSF 1.0 §7.2). */
export function streamRoutes(
  app: App,
  on: (handle: (app: App, request: Request) => Reply | Promise<Reply>) => Route['handle'],
): Route[] {
  const { streams: path, status, verify, poll } = SSF_PATHS
  const configuration = [...new Set([CONFIGURATION, CONFIGURATION + basePath(app)])]
  return [
    ...configuration.map((path): Route => ({ method: 'GET', path, handle: on(ssfConfiguration) })),
    { method: 'POST', path, body: BODY, handle: on(createOwnStream) },
    { method: 'GET', path, handle: on(readOwnStreams) },
    { method: 'PATCH', path, body: BODY, handle: on(changeOwnStream(false)) },
    { method: 'PUT', path, body: BODY, handle: on(changeOwnStream(true)) },
    { method: 'DELETE', path, handle: on(deleteOwnStream) },
    { method: 'GET', path: status, handle: on(readStreamStatus) },
    { method: 'POST', path: status, body: BODY, handle: on(changeStreamStatus) },
    { method: 'POST', path: verify, body: BODY, handle: on(verifyStream) },
    { method: 'POST', path: `${poll}/{id}`, body: { ...BODY, optional: true }, handle: on(pollStream) },
  ]
}
