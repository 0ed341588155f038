// Asking a provider: one POST to one of its endpoints, and what its answer means. Nothing that it says is passed on in its words.
import type { App } from '../context.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import { DAY } from '../lib/time.ts'
import { FetchError } from '../net/error.ts'
import type { FetchReply } from '../net/fetcher.ts'
import { jsonObjectOf } from '../net/json.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'

const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 10_000
/** Longest time (seconds) that a request to a provider is under way. */
export const UPSTREAM_PATIENCE = TIMEOUT_MS / 1000

/** The codes of RFC 6749 §5.2; any other one is told as `other`. */
const CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]

/** Reason of a 503 after which the provider may have done what it was asked. */
const ANSWER_LOST = 'upstream_answer_lost'
/** Failures of a fetch before the request was sent. */
const NOT_SENT: readonly string[] = ['bad_url', 'blocked_address', 'dns_failed', 'connect_failed', 'tls_failed']

/** The provider said no. */
export class UpstreamRefusal extends Error {
  readonly code: string
  constructor({ slug }: BrokerProvider, code: string, detail: string) {
    super(`provider ${slug}: ${code} (${detail})`)
    this.code = code
  }
}

interface Question {
  url: string
  form: Readonly<Record<string, string | undefined>>
  headers?: Readonly<Record<string, string>>
}

/** Whether a question that failed may have been answered: then nobody knows whether the provider did what it was asked. */
export const mayBeAnswered = (error: unknown): boolean =>
  error instanceof UpstreamRefusal
    ? error.code === 'other'
    : error instanceof OAuthError && error.reason === ANSWER_LOST

/** Posts a form to a provider. Throws 503 when it cannot be reached or says that it is not well. */
export async function postUpstream(app: App, { slug }: BrokerProvider, { url, form, headers }: Question) {
  const away = (cause: Error, reason: string) =>
    unavailable('the provider is not available at the moment', { reason, cause })
  const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  let reply: FetchReply
  try {
    reply = await app.brokerFetcher.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(given).toString(),
      accept: 'application/json',
      maxBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      allowHttp: app.config.cimd.allow_private_addresses,
    })
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    throw away(error, NOT_SENT.includes(error.reason) ? 'upstream_unavailable' : ANSWER_LOST)
  }
  const { status } = reply
  const said = new Error(`provider ${slug}: status ${status}`)
  if (status === 429) throw away(said, 'upstream_unavailable')
  // Of what stands in front of the provider, maybe, while the provider did what it was asked.
  if (status >= 500) throw away(said, ANSWER_LOST)
  return reply
}

export interface TokenAnswer {
  token: UpstreamToken
  refresh_token?: string
}

/**
 * Asks the token endpoint of a provider. `asked` are the scopes that were asked for: without a word about them they were
 * granted (RFC 6749 §5.1). Throws UpstreamRefusal, or 503.
 */
export async function askForToken(
  app: App,
  provider: BrokerProvider,
  question: Question,
  asked: readonly string[],
  format: 'standard' | 'form' = 'standard',
): Promise<TokenAnswer> {
  const reply = await postUpstream(app, provider, question)
  const answer = jsonObjectOf(reply) ?? (format === 'form' ? formOf(reply) : undefined)
  // Some answer 200 and mean no.
  if (answer?.['error'] !== undefined || reply.status >= 300)
    throw new UpstreamRefusal(provider, knownCode(answer?.['error']), `status ${reply.status}`)
  const access_token = credentialIn(answer?.['access_token'])
  if (!answer || !access_token) throw new UpstreamRefusal(provider, 'other', 'no access token in the answer')
  const saysScope = typeof answer['scope'] === 'string'
  const scope = saysScope ? namesIn(String(answer['scope'])) : [...asked]
  return {
    token: { access_token, scope, ...lifeOf(answer['expires_in'], app.clock.now()) },
    refresh_token: credentialIn(answer['refresh_token']),
  }
}

const [MAX_SCOPES, MAX_SCOPE_NAME] = [500, 255]
/** The names in a scope; what no honest provider would say is left out. */
const namesIn = (scope: string): string[] =>
  scope
    .split(/[\s,]+/)
    .filter((name) => name !== '' && name.length <= MAX_SCOPE_NAME)
    .slice(0, MAX_SCOPES)

const MAX_CREDENTIAL = 16_384
/** What tokens are made of (RFC 6749 §A.12): clients put them into headers. */
const VSCHARS = /^[\x20-\x7e]+$/
const credentialIn = (value: unknown): string | undefined =>
  typeof value === 'string' && VSCHARS.test(value) && value.length <= MAX_CREDENTIAL ? value : undefined

const formOf = ({ body }: FetchReply): Record<string, unknown> =>
  Object.fromEntries(new URLSearchParams(body.toString('utf8')))

const knownCode = (error: unknown): string => (typeof error === 'string' && CODES.includes(error) ? error : 'other')

const MAX_LIFE = 10 * 365 * DAY
const MAX_MARGIN = 60

/** When a token ends, and until when it is handed out: up to a minute before, so that whoever gets it has some use of it. */
function lifeOf(expires_in: unknown, now: number): Pick<UpstreamToken, 'expires_at' | 'usable_until'> {
  const seconds = typeof expires_in === 'string' ? Number(expires_in) : expires_in
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_LIFE) return {}
  const expires_at = now + Math.floor(seconds)
  return { expires_at, usable_until: expires_at - Math.min(MAX_MARGIN, Math.ceil(seconds / 10)) }
}
