// Express, and servers of the official MCP SDK, which read `request.auth`.
import type { AccessToken, IncomingRequest } from './options.ts'
import { Refusal } from './refusal.ts'
import type { Verifier } from './verifier.ts'

/** The type `AuthInfo` of the official MCP SDK. */
export interface AuthInfo {
  token: string
  clientId: string
  scopes: string[]
  expiresAt: number
  resource: URL
  extra: Record<string, unknown>
}

interface ExpressRequest {
  method: string
  originalUrl: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  auth?: AuthInfo
}
interface ExpressResponse {
  status(code: number): this
  set(headers: Record<string, string>): this
  json(body: unknown): unknown
}

/** Admits requests with a valid token, which handlers read as `request.auth`. Other requests get the response that MCP requires. */
export const requireToken =
  (
    verifier: Verifier,
    { scopes = [], acrValues }: { scopes?: readonly string[]; acrValues?: readonly string[] } = {},
  ) =>
  async (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    const { method, originalUrl: url, headers } = request
    try {
      request.auth = authInfo(
        verifier,
        await verifier.verify({ method, url, headers } satisfies IncomingRequest, scopes, acrValues),
      )
    } catch (error) {
      if (!(error instanceof Refusal)) return next(error)
      response
        .status(error.status)
        .set({ ...error.headers })
        .json(error.body)
      return
    }
    next()
  }

/** Serves the metadata of the resource (RFC 9728), at the path of `verifier.resourceMetadataUrl`. */
export const resourceMetadata =
  (verifier: Verifier) =>
  (_request: unknown, response: ExpressResponse): void => {
    response.set({ 'access-control-allow-origin': '*' }).json(verifier.resourceMetadata)
  }

/** A verified token as the official MCP SDK passes it to tools. */
export function authInfo(
  verifier: Verifier,
  { token, claims, subject, clientId, scopes, expiresAt }: AccessToken,
): AuthInfo {
  const resource = new URL(verifier.resourceMetadata.resource)
  return { token, clientId, scopes: [...scopes], expiresAt, resource, extra: { sub: subject, claims } }
}
