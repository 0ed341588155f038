// Requests to a provider: one POST to one of its endpoints, and the interpretation of the response. Texts of the provider are never
// passed on to callers.
import type { App } from '../context.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { DAY } from '../lib/time.ts'
import { FetchError } from '../net/error.ts'
import type { FetchReply } from '../net/fetcher.ts'
import { jsonObjectOf } from '../net/json.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 10_000
/** Maximum duration of a request to a provider, in seconds. */
export const UPSTREAM_TIMEOUT = TIMEOUT_MS / 1000

/** The error codes of RFC 6749 §5.2; any other code is reported as `other`. */
const CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]

/** Reason of a 503 after which the provider may have processed the request. */
const ANSWER_LOST = 'upstream_answer_lost'
/** Reasons of fetch failures before the request was sent. */
const NOT_SENT: readonly string[] = ['bad_url', 'dns_failed', 'connect_failed', 'tls_failed']

/** The provider answered with an error. */
export class UpstreamRefusal extends Error {
  readonly code: string
  constructor({ slug }: BrokerProvider, code: string, detail: string) {
    super(`provider ${slug}: ${code} (${detail})`)
    this.code = code
  }
}

interface UpstreamRequest {
  url: string
  form: Readonly<Record<string, string | undefined>>
  headers?: Readonly<Record<string, string>>
}

/** Whether the provider may have processed a request that failed. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof UpstreamRefusal
    ? error.code === 'other'
    : error instanceof OAuthError && error.reason === ANSWER_LOST

/** Posts a form to a provider. Throws 503 when the provider cannot be reached, or answers with 429 or a server error. */
export async function postUpstream(app: App, { slug }: BrokerProvider, { url, form, headers }: UpstreamRequest) {
  const failed = (cause: Error, reason: Reason) =>
    unavailable('the provider is not available at the moment', { reason, cause })
  const fields = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  let reply: FetchReply
  try {
    reply = await app.brokerFetcher.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
      accept: 'application/json',
      maxBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      allowHttp: app.config.cimd.allow_private_addresses,
    })
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    if (error.reason === 'blocked_address') throw failed(error, 'upstream_blocked_address')
    throw failed(error, NOT_SENT.includes(error.reason) ? 'upstream_unavailable' : ANSWER_LOST)
  }
  const { status } = reply
  const cause = new Error(`provider ${slug}: status ${status}`)
  if (status === 429) throw failed(cause, 'upstream_unavailable')
  // A proxy in front of the provider may have sent this status although the provider processed the request.
  if (status >= 500) throw failed(cause, ANSWER_LOST)
  return reply
}

export interface TokenAnswer {
  token: UpstreamToken
  refresh_token?: string
}

/**
 * Sends a request to the token endpoint of a provider. When the response has no scope, the `requested` scopes were granted
 * (RFC 6749 §5.1). Throws UpstreamRefusal, or 503.
 */
export async function requestUpstreamToken(
  app: App,
  provider: BrokerProvider,
  request: UpstreamRequest,
  requested: readonly string[],
  format: 'standard' | 'form' = 'standard',
): Promise<TokenAnswer> {
  const reply = await postUpstream(app, provider, request)
  const answer = jsonObjectOf(reply) ?? (format === 'form' ? formOf(reply) : undefined)
  // Some providers send an error with status 200.
  if (answer?.['error'] !== undefined || reply.status >= 300)
    throw new UpstreamRefusal(provider, knownCode(answer?.['error']), `status ${reply.status}`)
  const access_token = credentialIn(answer?.['access_token'])
  if (!answer || !access_token) throw new UpstreamRefusal(provider, 'other', 'no access token in the answer')
  const hasScope = typeof answer['scope'] === 'string'
  const scope = hasScope ? namesIn(String(answer['scope'])) : [...requested]
  return {
    token: { access_token, scope, ...lifeOf(answer['expires_in'], app.clock.now()) },
    refresh_token: credentialIn(answer['refresh_token']),
  }
}

const [MAX_SCOPES, MAX_SCOPE_NAME] = [500, 255]
/** The names in a scope. Names that are too long are dropped, and so are names beyond the maximum number. */
const namesIn = (scope: string): string[] =>
  scope
    .split(/[\s,]+/)
    .filter((name) => name !== '' && name.length <= MAX_SCOPE_NAME)
    .slice(0, MAX_SCOPES)

const MAX_CREDENTIAL = 16_384
/** The characters of a token (RFC 6749 §A.12). Clients send tokens in HTTP headers. */
const VSCHARS = /^[\x20-\x7e]+$/
const credentialIn = (value: unknown): string | undefined =>
  typeof value === 'string' && VSCHARS.test(value) && value.length <= MAX_CREDENTIAL ? value : undefined

const formOf = ({ body }: FetchReply): Record<string, unknown> =>
  Object.fromEntries(new URLSearchParams(body.toString('utf8')))

const knownCode = (error: unknown): string => (typeof error === 'string' && CODES.includes(error) ? error : 'other')

const MAX_LIFE = 10 * 365 * DAY
const MAX_MARGIN = 60

/** The expiry of a token, and the time until which it is handed out: up to a minute earlier, so that its receiver can still use it. */
function lifeOf(expires_in: unknown, now: number): Pick<UpstreamToken, 'expires_at' | 'usable_until'> {
  const seconds = typeof expires_in === 'string' ? Number(expires_in) : expires_in
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_LIFE) return {}
  const expires_at = now + Math.floor(seconds)
  return { expires_at, usable_until: expires_at - Math.min(MAX_MARGIN, Math.ceil(seconds / 10)) }
}
