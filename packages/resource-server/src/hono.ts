// Hono: a middleware. The token is in the variable `accessToken`.
import type { AccessToken } from './options.ts'
import { Refusal } from './refusal.ts'
import type { Verifier } from './verifier.ts'

interface HonoContext {
  req: { raw: Request }
  set(name: 'accessToken', value: AccessToken): void
}

/** Admits requests with a valid token, which handlers read as `c.get('accessToken')`. Other requests get the response that MCP requires. */
export const requireToken =
  (
    verifier: Verifier,
    { scopes = [], acrValues }: { scopes?: readonly string[]; acrValues?: readonly string[] } = {},
  ) =>
  async (c: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    try {
      c.set('accessToken', await verifier.verify(c.req.raw, scopes, acrValues))
    } catch (error) {
      if (error instanceof Refusal) return error.toResponse()
      throw error
    }
    await next()
    return undefined
  }
