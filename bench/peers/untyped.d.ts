// Types of the parts of two untyped packages that the benchmark uses.

declare module 'autocannon' {
  interface Request {
    method: string
    path: string
    headers: Record<string, string>
    body: string
  }
  interface Client {
    setRequests(requests: Request[]): void
  }
  interface Options {
    url: string
    connections: number
    /** Seconds. */
    duration: number
    /** Milliseconds; the end of a run is noticed at the end of a sample. */
    sampleInt: number
    setupClient(client: Client): void
  }
  interface Result {
    '2xx': number
    non2xx: number
    /** Timeouts included. */
    errors: number
  }
  interface Run extends PromiseLike<Result> {
    on(event: 'start', listener: () => void): void
    on(event: 'response', listener: (client: Client, status: number, bytes: number, ms: number) => void): void
  }
  export default function autocannon(options: Options): Run
}

declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  interface Model {
    save(): Promise<string>
  }
  interface Grant extends Model {
    addResourceScope(resource: string, scope: string): void
    addOIDCScope(scope: string): void
  }
  export interface Client {
    readonly clientId: string
    backchannelLogout(sub: string, sid: string | undefined): Promise<void>
  }
  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
    on(
      event: 'grant.success',
      listener: (context: { oidc: { entities: { AuthorizationCode?: { sid?: string } } } }) => void,
    ): void
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ prompt: { name: string }; params: Record<string, string> }>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
    ): Promise<void>
    readonly Grant: new (properties: {
      accountId: string
      clientId: string
    }) => Grant
    readonly AuthorizationCode: new (
      properties: Record<string, unknown>,
    ) => Model
    readonly Client: { find(clientId: string): Promise<Client | undefined> }
    /** Decides about an approval (CIBA). */
    backchannelResult(authReqId: string, result: Grant | Error): Promise<void>
  }
  export const errors: Readonly<
    Record<'AccessDenied' | 'InvalidAuthorizationDetails' | 'InvalidTarget', new (description?: string) => Error>
  >
}
declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  export default class MemoryAdapter {
    constructor(model: string, store: unknown)
  }
}
declare module 'oidc-provider/lib/helpers/lru.js' {
  export default class LRU {
    constructor(options: { maxSize: number })
  }
}
