// Hono: a middleware. The token is in the variable `accessToken`.
import type { AccessToken } from './options.ts'
import { Refusal } from './refusal.ts'
import type { Verifier } from './verifier.ts'

interface HonoContext {
  req: { raw: Request }
  set(name: 'accessToken', value: AccessToken): void
}

/** Lets requests with a valid token through, with `c.get('accessToken')`. Others get the answer that MCP asks for. */
export const requireToken =
  (verifier: Verifier, { scopes = [] }: { scopes?: readonly string[] } = {}) =>
  async (c: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    try {
      c.set('accessToken', await verifier.verify(c.req.raw, scopes))
    } catch (error) {
      if (error instanceof Refusal) return error.toResponse()
      throw error
    }
    await next()
    return undefined
  }
