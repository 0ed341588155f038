// Requests and replies as plain values. The engines fill the first and write the second.
import { OAuthError } from '../lib/error.ts'
import { parseObject } from '../lib/json.ts'
import { newNamed } from '../lib/named.ts'
import type { Reason } from '../lib/reasons/index.ts'
import type { Issuance } from '../records/issuance.ts'
import type { Trace } from '../telemetry/trace.ts'

export interface RequestHead {
  method: string
  /** The raw path, without the query. */
  path: string
  /** The raw query, without the question mark. */
  query: string
  /** Names are lower-case. The values of a repeated header are joined: with a semicolon those of Cookie, with a comma all others. */
  headers: Readonly<Record<string, string | undefined>>
  /** Names of the headers that were sent more than once. */
  repeated: readonly string[]
  /** The address of the peer of the TCP connection. */
  remote: string
}

/** The path and the query of a local target. Only the first question mark divides them: others are legal in a query (RFC 3986 §3.4). */
export function splitTarget(target: string): Pick<RequestHead, 'path' | 'query'> {
  const at = target.indexOf('?')
  return at < 0 ? { path: target, query: '' } : { path: target.slice(0, at), query: target.slice(at + 1) }
}

type Head = { headers: Record<string, string | undefined>; repeated: string[] }
/** Adds a header line to a head. A Cookie header may be split into several lines (RFC 9113 §8.2.3), which proxies pass on. */
export function addHeader({ headers, repeated }: Head, name: string, value: string): void {
  const before = headers[name]
  if (before === undefined) headers[name] = value
  else {
    headers[name] = `${before}${name === 'cookie' ? ';' : ','} ${value}`
    repeated.push(name)
  }
}

export interface Request extends RequestHead {
  /** Time-ordered id of the request. It becomes the jti of the token that the request issues. */
  id: string
  body: Buffer
  /** Decoded path parameters of the route. */
  params: Readonly<Record<string, string>>
  /** `performance.now()` when the head was received. */
  startedMs: number
  /** Id of its trace: the one of this service, or the one that the caller sent. */
  trace_id?: string
  /** Its span, when it is sampled. */
  trace?: Trace
  /** Facts that the handler found, for the log, the client activity and the pages. */
  notes: Notes
}

export interface Notes {
  /** The client that the request names. */
  client_id?: string
  /** A client of operators proved that it sends the request. Its address counts as known then. */
  isOperatorsClient?: boolean
  /** Why an introspected token is not active. Shown to operators, not to the caller. */
  inactive?: string | undefined
  /** What a refused assertion claims, truncated. Its signature was not verified. For the log. */
  unverified?: Readonly<Record<string, string>>
  /** The token that was issued. */
  issued?: Issuance
  /** A refusal that was answered with a redirect or a page in place of an error. */
  refusal?: OAuthError
  /** Open requests for an approval of the signed-in person, for the line on the pages. */
  waiting?: number
  /** What an operator should know about a request that was answered: for the log and the client activity. */
  remark?: { reason: Reason; text: string }
}

export interface Reply {
  status: number
  headers: Record<string, string | string[]>
  body: string | Buffer
  /** Streamed in place of the body: only on node:http, which serves the admin listener. */
  stream?: AsyncIterable<string>
  /** Close the connection after this answer. */
  close?: boolean
}

export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const

export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})
export const htmlReply = (status: number, text: string, headers: Record<string, string | string[]> = {}): Reply => ({
  status,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    ...headers,
  },
  body: text,
})
export const empty = (status: number, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { ...headers },
  body: '',
})

/** 303, so that a browser never repeats a POST with credentials elsewhere (RFC 9700 §4.12). */
export const redirect = (location: string, headers: Record<string, string | string[]> = {}): Reply => ({
  status: 303,
  headers: { location: headerUrl(location), 'cache-control': 'no-store', ...headers },
  body: '',
})
const headerUrl = (url: string) =>
  url.replace(/[^\x21-\x7e]/gu, (char) => (char.isWellFormed() ? encodeURIComponent(char) : ''))

/** Parameters of a form or query. An empty value counts as absent (RFC 6749 §3.1). */
export type Params = Readonly<Record<string, string | undefined>>

const MAX_PARAMS = 200

/**
 * Parses application/x-www-form-urlencoded text. A value that is repeated counts once, and an empty one beside another not at all. Throws
 * invalid_request for a parameter with two values, bad escapes, invalid UTF-8 or NUL, and invalid_target for two values of `resource`
 * (RFC 8707 allows several, this service binds one). The values of `lists`, the names of groups of checkboxes, are joined by spaces instead.
 */
export function parseParams(text: string, ...lists: readonly string[]): Params {
  const params = newNamed()
  if (text === '') return params
  if (text.includes('\0') || text.includes('\ufffd')) throw badEncoding()
  let count = 0
  for (let from = 0; from < text.length; ) {
    const end = indexOrEnd(text, '&', from, text.length)
    const eq = indexOrEnd(text, '=', from, end)
    if (end > from) addParam(params, decode(text.slice(from, eq)), decode(text.slice(eq + 1, end)), lists)
    if (++count > MAX_PARAMS)
      throw new OAuthError('invalid_request', 'too many parameters', { reason: 'too_many_params' })
    from = end + 1
  }
  return params
}

/** The first place of a character before `end`, or else `end`. */
function indexOrEnd(text: string, char: string, from: number, end: number): number {
  const at = text.indexOf(char, from)
  return at < 0 || at > end ? end : at
}

function addParam(params: Record<string, string | undefined>, name: string, value: string, lists: readonly string[]) {
  const before = params[name]
  // An empty one keeps its name: the admin API refuses a filter without a value.
  if (before === undefined) params[name] = value === '' ? undefined : value
  else if (value === '' || value === before) return
  else if (lists.includes(name)) params[name] = `${before} ${value}`
  else refuseTwo(name)
}

function refuseTwo(name: string): never {
  if (name === 'resource')
    throw new OAuthError('invalid_target', 'only one resource can be named', { reason: 'repeated_resource' })
  throw new OAuthError('invalid_request', 'a parameter is given twice, with different values', {
    reason: 'repeated_param',
  })
}

function decode(text: string): string {
  const plain = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!plain.includes('%')) return plain
  try {
    const value = decodeURIComponent(plain)
    if (!value.includes('\0')) return value
  } catch {}
  throw badEncoding()
}

/** The parameters of a query, for code that only looks for one of them. URLSearchParams alone would drop a question mark at the beginning. */
export const queryParams = (query: string): URLSearchParams => new URLSearchParams(`&${query}`)

/** A query with one parameter replaced, or added. Everything else stays as it was sent. */
export const replaceParam = (query: string, name: string, value: string): string =>
  [withoutParam(query, name), new URLSearchParams({ [name]: value })].filter(Boolean).join('&')

/** A query without one parameter. Everything else stays as it was sent. */
export const withoutParam = (query: string, name: string): string =>
  query
    .split('&')
    .filter((pair) => pair !== '' && !queryParams(pair).has(name))
    .join('&')

/** U+FFFD stands for a byte that is not valid UTF-8. */
const badEncoding = () =>
  new OAuthError('invalid_request', 'a parameter is not valid UTF-8 text', { reason: 'bad_encoding' })

/** The parameters of a form body; see parseParams(). */
export const parseForm = (request: Request, ...lists: readonly string[]): Params =>
  parseParams(request.body.toString('utf8'), ...lists)

/** The members of a JSON object body. Throws invalid_request for anything else. */
export function parseJson(request: Request): Record<string, unknown> {
  const value = parseObject(request.body)
  if (!value) throw new OAuthError('invalid_request', 'the body must be a JSON object', { reason: 'bad_json' })
  return value
}

/** Trims the white space of HTTP only (RFC 9110 §5.6.3): browsers count other white space as part of a cookie name, which then lacks its protecting prefix. */
const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')

/**
 * The names and values of the cookies of a request, in their order. Only a semicolon ends a cookie (RFC 6265 §4.2.1): the value of a
 * cookie of a sibling domain may contain a comma.
 */
export const parseCookies = (request: RequestHead): [name: string, value: string][] =>
  (request.headers.cookie ?? '').split(';').flatMap((part): [string, string][] => {
    const eq = part.indexOf('=')
    const name = trimmed(part.slice(0, Math.max(0, eq)))
    return name === '' ? [] : [[name, trimmed(part.slice(eq + 1))]]
  })

/** The value of a cookie. Throws invalid_request when two cookies have the name: a sibling domain may have set one, and they cannot be told apart. */
export function cookieOf(request: RequestHead, name: string): string | undefined {
  const [cookie, ...more] = parseCookies(request).filter((each) => each[0] === name)
  if (more.length === 0) return cookie?.[1]
  throw new OAuthError(
    'invalid_request',
    `this browser sent two cookies named ${name}: delete the cookies of this site and of its parent domain`,
    { reason: 'repeated_cookie' },
  )
}

/** Whether the caller prefers an HTML page to a problem document. */
export const prefersHtml = (request: RequestHead): boolean => {
  const accept = request.headers.accept ?? ''
  const html = accept.indexOf('text/html')
  const json = accept.search(/application\/(problem\+)?json/)
  return html >= 0 && (json < 0 || html < json)
}
