// Fastify: a hook for `preHandler` or `onRequest`.
import type { AccessToken } from './options.ts'
import { Refusal } from './refusal.ts'
import type { Verifier } from './verifier.ts'

interface FastifyRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  accessToken?: AccessToken
}
interface FastifyReply {
  code(status: number): this
  headers(headers: Record<string, string>): this
  send(body: unknown): this
}

/** Admits requests with a valid token, which handlers read as `request.accessToken`. Other requests get the response that MCP requires. */
export const requireToken =
  (
    verifier: Verifier,
    { scopes = [], acrValues }: { scopes?: readonly string[]; acrValues?: readonly string[] } = {},
  ) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      request.accessToken = await verifier.verify(request, scopes, acrValues)
      return undefined
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return reply
        .code(error.status)
        .headers({ ...error.headers })
        .send(error.body)
    }
  }
