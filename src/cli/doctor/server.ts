// Checks of the running server, over the addresses that clients use.

import { type Finding, fail, ok, warn } from '../../admin/finding.ts'
import type { Env } from '../../config/env.ts'
import { issuerOf } from '../../config/issuer.ts'
import { registrationWarnings } from '../../config/notices.ts'
import type { Config } from '../../config/schema.ts'
import { parseObject } from '../../lib/json.ts'
import { isHttpUrl } from '../../lib/url.ts'
import type { Fetcher, FetchReply } from '../../net/fetcher.ts'
import { differences, metadataUrlOf } from '../../oauth/tokens/resource_check.ts'
import { lockHolder } from '../../store/lock.ts'
import { originOf } from '../origin.ts'
import { askServer, checkRecords, unlessUnread } from './records.ts'

const LIMITS = { maxBytes: 1024 * 1024, timeoutMs: 10_000, allowHttp: true } as const
/** Clock difference in seconds from which verifiers begin to refuse tokens. */
const CLOCK_SECONDS = 5
const METADATA = '/.well-known/oauth-authorization-server'

/** Checks the listeners, the metadata under the issuer, the clocks, the keys, registration and the resources. `running`: a server must answer. */
export async function checkServer(config: Config, env: Env, fetcher: Fetcher, running: boolean): Promise<Finding[]> {
  const local = await get(fetcher, `${originOf(config.server.address)}/health`)
  if (!('reply' in local)) return [silent(config, running), ...registration(config, config.dcr.mode)]
  const answers = health(local.reply)
  // The other checks would only repeat that fault.
  if (answers.result === 'fail') return [answers, clocks(local.reply)]
  return [
    answers,
    clocks(local.reply),
    await issuer(config, fetcher),
    await adminKey(config, env),
    registration(config, await modeInForce(config, env)),
    await unlessUnread('resources', resources(config, env, fetcher)),
    await checkRecords(config, env),
  ].flat()
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

const jsonOf = ({ body }: FetchReply): Record<string, unknown> => parseObject(body) ?? {}

function health(reply: FetchReply): Finding {
  const { status, db } = jsonOf(reply)
  if (status === 'ok') return ok('server', 'runs, its storage answers')
  if (db === undefined) return fail('server', 'another program listens on the public address', 'change server.address')
  return fail('server', 'its storage does not answer', 'see the log of the server, and the disk or the database')
}

async function issuer(config: Config, fetcher: Fetcher): Promise<Finding | Finding[]> {
  const { server } = config
  const result = await get(fetcher, server.issuer + METADATA)
  if (!('reply' in result))
    return fail(
      'issuer',
      `${server.issuer} is not reachable: ${result.error}`,
      'check DNS, the proxy and its certificate',
    )
  const { issuer, jwks_uri } = jsonOf(result.reply)
  if (issuer !== issuerOf(config))
    return fail(
      'issuer',
      `${server.issuer}${METADATA} answers ${result.reply.status}, issuer ${String(issuer)}`,
      'server.issuer must be the URL that clients use, and the proxy must forward its paths',
    )
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
  const result = await get(fetcher, url)
  const { keys } = 'reply' in result ? jsonOf(result.reply) : {}
  return Array.isArray(keys) && keys.length > 0
    ? ok('keys', `${keys.length} published at ${url}`)
    : fail('keys', `no keys at ${url}`, 'resource servers cannot verify tokens: check the proxy')
}

async function adminKey(config: Config, env: Env): Promise<Finding | Finding[]> {
  if (!config.admin.enabled || !config.admin.api_key) return []
  try {
    await askServer(config, env, 'system', 'status')
    return ok('admin API', `answers at ${config.admin.address}`)
  } catch (error) {
    return fail('admin API', (error as Error).message, 'use the admin.api_key of the running server')
  }
}

type DcrMode = Config['dcr']['mode']

/** The mode of the running server, which operators can change. The configured one when the server does not say it. */
async function modeInForce(config: Config, env: Env): Promise<DcrMode> {
  const asked = askServer(config, env, 'dcr', 'get') as Promise<{ mode: DcrMode }>
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
  const all = (await askServer(config, env, 'resource', 'list')) as ShownResource[]
  const described = all.filter(({ uri }) => isHttpUrl(uri))
  if (described.length === 0)
    return [
      warn('resources', 'no resource has an http(s) URI', '`service quickstart`, or `service admin resource create`'),
    ]
  const found = await Promise.all(described.map((resource) => resourceAt(config, fetcher, resource)))
  return found.flat()
}

async function resourceAt(config: Config, fetcher: Fetcher, resource: ShownResource): Promise<Finding[]> {
  const { slug, uri, warning } = resource
  const check = `resource ${slug}`
  const url = metadataUrlOf(uri)
  const result = await get(fetcher, url)
  const document = 'reply' in result && result.reply.status === 200 ? jsonOf(result.reply) : {}
  const [difference] = differences(config, resource, document)
  const said =
    'reply' in result
      ? `answers ${result.reply.status} and ${difference?.message}`
      : `cannot be fetched: ${result.error}`
  return [
    difference ? warn(check, `${url} ${said}`, difference.fix) : ok(check, `${url} names this server`),
    difference ? [] : missingScopes(config, check, url, resource, document['scopes_supported']),
    warning ? warn(check, warning, `service admin resource update --slug ${slug} --uri with that form`) : [],
  ].flat()
}

/** Clients take the scopes that they ask for from this metadata. Without any they send none, which `oauth.require_scope` refuses. */
function missingScopes(
  { oauth }: Config,
  check: string,
  url: string,
  { scopes }: ShownResource,
  listed: unknown,
): Finding | Finding[] {
  const isListed = Array.isArray(listed) && listed.length > 0
  if (isListed || scopes.length === 0 || !oauth.require_scope) return []
  return warn(
    check,
    `${url} lists no scopes, and oauth.require_scope is on: clients that ask for none are refused`,
    'add scopes_supported there, or set oauth.require_scope: false',
  )
}
