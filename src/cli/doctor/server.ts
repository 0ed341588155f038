// Checks of the running server, over the addresses that clients use.
import { actionNamed } from '../../admin/index.ts'
import type { Env } from '../../config/env.ts'
import { issuerOf } from '../../config/issuer.ts'
import { registrationWarnings } from '../../config/notices.ts'
import type { Config } from '../../config/schema.ts'
import type { Fetcher, FetchReply } from '../../net/fetcher.ts'
import { differences, metadataUrlOf } from '../../oauth/resource_check.ts'
import { lockHolder } from '../../store/lock.ts'
import { originOf } from '../origin.ts'
import { runAction, withSender } from '../send.ts'
import { type Finding, fail, ok, warn } from './check.ts'
import { type ClientTrail, clientFindings } from './clients.ts'
import { checkReferences } from './references.ts'

const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 10_000, allowHttp: true } as const
/** Clock difference in seconds from which verifiers begin to refuse tokens. */
const CLOCK_SECONDS = 5
const METADATA = '/.well-known/oauth-authorization-server'

export interface ServerCheck {
  env: Env
  fetcher: Fetcher
  /** Whether a server is expected to answer. */
  running: boolean
}

/** Checks the listeners, the metadata under the issuer, the clocks, the keys, registration and the resources. */
export async function checkServer(config: Config, { env, fetcher, running }: ServerCheck): Promise<Finding[]> {
  const local = await get(fetcher, `${originOf(config.server.address)}/health`)
  if (!('reply' in local)) return [silent(config, running), ...registration(config, config.dcr.mode)]
  const answers = health(local.reply)
  // The other checks would only repeat that fault.
  if (answers.result === 'fail') return [answers, clocks(local.reply)]
  return [
    answers,
    clocks(local.reply),
    ...(await issuer(config, fetcher)),
    ...(await adminKey(config, env)),
    ...registration(config, await modeInForce(config, env)),
    ...(await resources(config, env, fetcher)),
    ...(await brokerProviders(config, env)),
    ...(await blockedHosts(config, env, 'provider')),
    ...(await blockedHosts(config, env, 'idp')),
    ...(await issuerKeys(config, env)),
    ...(await clients(config, env)),
    ...(await withSender(config, env, (sender) => checkReferences(sender, config)).catch(() => [])),
  ]
}

/** Without a server the set-up is checked before its start. A server that uses the database must answer. */
function silent({ server, storage }: Config, running: boolean): Finding {
  const message = `nothing answers at ${server.address}`
  const holder = storage.driver === 'sqlite' ? lockHolder(storage.sqlite.path) : undefined
  if (holder)
    return fail(
      'server',
      `${message}, but the database is in use by ${holder}`,
      'check server.address and the log of the server',
    )
  return running
    ? fail('server', message, 'start it: `service serve`; see its log')
    : warn('server', message, 'start it: `service serve`')
}

type Got = { reply: FetchReply } | { error: string }
async function get(fetcher: Fetcher, url: string): Promise<Got> {
  try {
    return { reply: await fetcher.fetch(url, LIMITS) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function jsonOf({ body }: FetchReply): Record<string, unknown> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function health(reply: FetchReply): Finding {
  const { status, db } = jsonOf(reply)
  if (status === 'ok') return ok('server', 'runs, its storage answers')
  if (db === undefined) return fail('server', 'another program listens on the public address', 'change server.address')
  return fail('server', 'its storage does not answer', 'see the log of the server, and the disk or the database')
}

async function issuer(config: Config, fetcher: Fetcher): Promise<Finding[]> {
  const { server } = config
  const got = await get(fetcher, server.issuer + METADATA)
  if (!('reply' in got))
    return [
      fail('issuer', `${server.issuer} is not reachable: ${got.error}`, 'check DNS, the proxy and its certificate'),
    ]
  const { issuer, jwks_uri } = jsonOf(got.reply)
  if (issuer !== issuerOf(config))
    return [
      fail(
        'issuer',
        `${server.issuer}${METADATA} answers ${got.reply.status}, issuer ${String(issuer)}`,
        'server.issuer must be the URL that clients use, and the proxy must forward its paths',
      ),
    ]
  return [ok('issuer', `${server.issuer} serves its metadata`), await keys(fetcher, String(jwks_uri))]
}

function clocks({ headers }: FetchReply): Finding {
  const there = Date.parse(headers['date'] ?? '')
  if (Number.isNaN(there)) return ok('clock', 'the answer has no Date header to compare with')
  const seconds = Math.round(Math.abs(Date.now() - there) / 1000)
  return seconds <= CLOCK_SECONDS
    ? ok('clock', `${seconds} s apart from the server`)
    : fail('clock', `${seconds} s apart from the server`, 'run a time service (chrony, systemd-timesyncd) on both')
}

async function keys(fetcher: Fetcher, url: string): Promise<Finding> {
  const got = await get(fetcher, url)
  const { keys } = 'reply' in got ? jsonOf(got.reply) : {}
  return Array.isArray(keys) && keys.length > 0
    ? ok('keys', `${keys.length} published at ${url}`)
    : fail('keys', `no keys at ${url}`, 'resource servers cannot verify tokens: check the proxy')
}

async function adminKey(config: Config, env: Env): Promise<Finding[]> {
  if (!config.admin.enabled || !config.admin.api_key) return []
  try {
    await operation(config, env, 'system', 'status')
    return [ok('admin API', `answers at ${config.admin.address}`)]
  } catch (error) {
    return [fail('admin API', (error as Error).message, 'use the admin.api_key of the running server')]
  }
}

type DcrMode = Config['dcr']['mode']

/** The mode of the running server, which operators can change. The configured one when the server does not say it. */
async function modeInForce(config: Config, env: Env): Promise<DcrMode> {
  const asked = operation(config, env, 'dcr', 'get') as Promise<{ mode: DcrMode }>
  return asked.then(({ mode }) => mode).catch(() => config.dcr.mode)
}

/** Who may register clients. */
function registration(config: Config, mode: DcrMode): Finding[] {
  const origin = mode === config.dcr.mode ? '' : `; set at run time, the configuration has ${config.dcr.mode}`
  const warnings = registrationWarnings(config, mode)
  if (warnings.length === 0) return [ok('registration', `dcr.mode is ${mode}${origin}`)]
  return warnings.map((message) => warn('registration', message + origin, CLOSE_REGISTRATION))
}
const CLOSE_REGISTRATION = '`service admin dcr set --mode admin_only`, or set dcr.mode'

interface ShownResource {
  slug: string
  uri: string
  scopes: unknown[]
  warning?: string
}

/** Checks the resource metadata (RFC 9728), which an MCP client reads first: it must name this server as authorization server. */
async function resources(config: Config, env: Env, fetcher: Fetcher): Promise<Finding[]> {
  const all = (await operation(config, env, 'resource', 'list').catch(() => [])) as ShownResource[]
  const described = all.filter(({ uri }) => uri)
  if (described.length === 0)
    return [warn('resources', 'no resource has a URI', '`service quickstart`, or `service admin resource create`')]
  const found = await Promise.all(described.map((resource) => resourceAt(config, fetcher, resource)))
  return found.flat()
}

async function resourceAt(config: Config, fetcher: Fetcher, resource: ShownResource): Promise<Finding[]> {
  const { slug, uri, warning } = resource
  const check = `resource ${slug}`
  const url = metadataUrlOf(uri)
  const got = await get(fetcher, url)
  const document = 'reply' in got && got.reply.status === 200 ? jsonOf(got.reply) : {}
  const [difference] = differences(config, resource, document)
  const said =
    'reply' in got ? `answers ${got.reply.status} and ${difference?.message}` : `cannot be fetched: ${got.error}`
  return [
    difference ? warn(check, `${url} ${said}`, difference.fix) : ok(check, `${url} names this server`),
    ...(!difference ? missingScopes(config, check, url, resource, document['scopes_supported']) : []),
    ...(warning ? [warn(check, warning, `service admin resource update --slug ${slug} --uri with that form`)] : []),
  ]
}

/** Clients take the scopes that they ask for from this metadata. Without any they send none, which `oauth.require_scope` refuses. */
function missingScopes(
  { oauth }: Config,
  check: string,
  url: string,
  { scopes }: ShownResource,
  listed: unknown,
): Finding[] {
  const isListed = Array.isArray(listed) && listed.length > 0
  if (isListed || scopes.length === 0 || !oauth.require_scope) return []
  return [
    warn(
      check,
      `${url} lists no scopes, and oauth.require_scope is on: clients that ask for none are refused`,
      'add scopes_supported there, or set oauth.require_scope: false',
    ),
  ]
}

interface ShownProvider {
  slug: string
  protocol: string
}
interface ShownCheck {
  usable: boolean
  reason?: string
  fix?: string
}

/** Checks the providers of broker resources from the server, which has their secrets. */
async function brokerProviders(config: Config, env: Env): Promise<Finding[]> {
  const all = (await operation(config, env, 'provider', 'list').catch(() => [])) as ShownProvider[]
  return Promise.all(
    all
      .filter(({ protocol }) => protocol === 'oauth')
      .map(async ({ slug }) => {
        const check = `broker provider ${slug}`
        const asked = operation(config, env, 'provider', 'check', {}, { id: slug }) as Promise<ShownCheck>
        const { reason, fix = '' } = await asked.catch(unchecked)
        return reason === undefined
          ? ok(check, 'answers, and accepts the client id and secret')
          : fail(check, `cannot be used: ${reason}`, fix)
      }),
  )
}

/** One provider that cannot be checked must not end the other checks. */
const unchecked = (error: Error): ShownCheck => ({
  usable: false,
  reason: error.message,
  fix: 'see the log of the server',
})

/** Providers and issuers whose hosts requests must not reach. The warning names the key. */
async function blockedHosts(config: Config, env: Env, resource: 'provider' | 'idp'): Promise<Finding[]> {
  const all = await operation(config, env, resource, 'list').catch(() => [])
  return (all as { id: string; warning?: string }[]).flatMap(({ id, warning }) =>
    warning ? [fail(`${resource} ${id}`, warning, 'add the host to this list if requests may go to it')] : [],
  )
}

interface ShownState {
  slug: string
  use: string
  reason?: string
  since?: string
  keys?: number
}

/** The keys of the identity providers whose assertions are accepted, as the server fetches them. */
async function issuerKeys(config: Config, env: Env): Promise<Finding[]> {
  const status = await operation(config, env, 'system', 'status').catch(() => ({}))
  const { providers = [] } = status as { providers?: ShownState[] }
  return providers
    .filter(({ use, reason }) => use === 'assertions' && reason !== 'jwks_blocked_address')
    .map(({ slug, reason, since, keys = 0 }) => {
      const check = `keys of ${slug}`
      if (reason)
        return fail(
          check,
          `cannot be fetched since ${since}: ${reason}`,
          keys > 0
            ? 'check its jwks_uri, or wait until it is available; the cached keys are used for xaa.jwks_cache_ttl'
            : 'check its jwks_uri and whether it is available; its assertions get 503 until then',
        )
      return keys > 0 ? ok(check, `${keys} published`) : fail(check, 'it publishes none', 'check its jwks_uri')
    })
}

/** The failures of clients that a setting can correct. */
async function clients(config: Config, env: Env): Promise<Finding[]> {
  const query = { limit: MAX_TRAILS }
  const trails = await operation(config, env, 'connection', 'list', query).catch(() => [])
  return clientFindings(trails as ClientTrail[])
}
const MAX_TRAILS = 2000

const operation = (
  config: Config,
  env: Env,
  resource: string,
  word: string,
  query = {},
  params = {},
): Promise<unknown> => runAction(config, env, actionNamed(resource, word), { params, query })
