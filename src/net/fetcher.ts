// The types of the outgoing HTTP client; net/fetch.ts creates it.

export interface FetchRequest {
  /** GET by default. */
  method?: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
  /** The trace of the request (W3C Trace Context). GETs with different traces may share a reply. */
  traceparent?: string
  /** The Accept header. */
  accept?: string
  /** Maximum bytes of the body, before and after decompression. The limit of the other bytes on the wire is derived from it. */
  maxBytes: number
  /** From the call to the last byte, including queueing and name resolution. */
  timeoutMs: number
  /** Whether plain http is allowed. */
  allowHttp?: boolean
  /** Whether a redirect is returned, for callers that decide whether to follow it. By default it is an error. */
  showRedirect?: boolean
}

/** GETs of one URL may share a reply, so it must not be modified. */
export interface FetchReply {
  /** 2xx, 4xx or 5xx; 3xx only with showRedirect. */
  readonly status: number
  /** Names are in lower case; repeated fields are joined with a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Decompressed. */
  readonly body: Buffer
}

export interface Fetcher {
  /** Rejects with a FetchError, or with 503 when there are too many concurrent fetches. */
  fetch(url: string, request: FetchRequest): Promise<FetchReply>
}
