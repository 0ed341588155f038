// The types of an outbound HTTP client; net/fetch.ts makes one.

export interface FetchRequest {
  /** GET unless told. */
  method?: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string | Buffer
  /** The trace on whose behalf it is made (W3C Trace Context); does not keep GETs from sharing a reply. */
  traceparent?: string
  /** The Accept header. */
  accept?: string
  /** Most bytes of the body, as they come and decompressed. What comes around the body has a limit that follows from it. */
  maxBytes: number
  /** From the call to the last byte, waiting and name resolution included. */
  timeoutMs: number
  /** Plain http as well. */
  allowHttp?: boolean
  /** A redirect is an answer, for callers that decide whether they follow it; else it is an error. */
  showRedirect?: boolean
}

/** GETs of one URL may share a reply: read it, do not change it. */
export interface FetchReply {
  /** 2xx, 4xx or 5xx; 3xx only where asked for. */
  readonly status: number
  /** Names in lower case; repeated fields joined with a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Decompressed. */
  readonly body: Buffer
}

export interface Fetcher {
  /** Rejects with a FetchError, or with 503 when too many fetches are under way. */
  fetch(url: string, request: FetchRequest): Promise<FetchReply>
}
