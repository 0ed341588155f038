// Checks of records, which doctor reads from the running server by the admin API.

import type { z } from 'zod'
import type { provider, providerCheck } from '../../admin/answers/answers.ts'
import type { systemStatus } from '../../admin/answers/service.ts'
import { type ClientTrail, clientFindings } from '../../admin/clients/client_findings.ts'
import { REMEDIES } from '../../admin/doctor.ts'
import { type Finding, fail, ok, warn } from '../../admin/finding.ts'
import { actionNamed } from '../../admin/index.ts'
import type { Env } from '../../config/env.ts'
import type { Config } from '../../config/schema.ts'
import { runAction, withSender } from '../send.ts'
import { checkReferences } from './references.ts'

/** Checks providers, keys of issuers, clients, and references between records. */
export async function checkRecords(config: Config, env: Env): Promise<Finding[]> {
  const references = () => withSender({ config, env }, (sender) => checkReferences(sender, config))
  return [
    await unlessUnread('broker providers', brokerProviders(config, env)),
    await unlessUnread('addresses of providers', blockedHosts(config, env, 'provider')),
    await unlessUnread('addresses of identity providers', blockedHosts(config, env, 'idp')),
    await unlessUnread('keys of identity providers', issuerKeys(config, env)),
    await unlessUnread('scim', scimProviders(config, env)),
    await unlessUnread('what the server noticed', noticed(config, env)),
    await unlessUnread('clients', clients(config, env)),
    await unlessUnread('references', references()),
  ].flat()
}

/** The findings. A check that could not be made is a warning: without it, the records would look right. */
export const unlessUnread = (check: string, findings: Promise<Finding[]>): Promise<Finding[]> =>
  findings.catch((error: Error) => [
    warn(check, `not checked: ${error.message}`, 'use the admin.api_key of the running server, or see its log'),
  ])

type ShownCheck = z.output<typeof providerCheck>

/** Checks the providers of broker resources from the server, which has their secrets. */
async function brokerProviders(config: Config, env: Env): Promise<Finding[]> {
  const all = (await askServer(config, env, 'provider', 'list')) as z.output<typeof provider>[]
  return Promise.all(
    all
      .filter(({ protocol }) => protocol === 'oauth')
      .map(async ({ slug }) => {
        const check = `broker provider ${slug}`
        const asked = askServer(config, env, 'provider', 'check', {}, { id: slug }) as Promise<ShownCheck>
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
  const all = await askServer(config, env, resource, 'list')
  return (all as { id: string; warning?: string }[]).flatMap(({ id, warning }) =>
    warning ? [fail(`${resource} ${id}`, warning, 'add the host to this list if requests may go to it')] : [],
  )
}

/** The keys of the identity providers whose assertions are accepted, as the server fetches them. */
async function issuerKeys(config: Config, env: Env): Promise<Finding[]> {
  const { providers = [] } = await askStatus(config, env)
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

/** What providers manage over SCIM: those with a key. */
async function scimProviders(config: Config, env: Env): Promise<Finding[]> {
  if (!config.scim.enabled) return []
  const { providers = [] } = await askStatus(config, env)
  const shown = providers.flatMap(({ slug, scim }) => (scim ? [{ slug, scim }] : []))
  if (shown.length === 0) return [warn('scim', 'no provider has a SCIM key', CREATE_SCIM_KEY)]
  return shown.map(({ slug, scim: { people, groups, last_call_at, last_error, last_error_at } }) => {
    const check = `scim ${slug}`
    const counts = `${people} people and ${groups} groups`
    if (last_call_at === undefined)
      return warn(check, `${counts}; the provider has not called`, 'see docs/guides/scim.md')
    const since = `${counts}; last call ${last_call_at}`
    return last_error === undefined || (last_error_at ?? '') < last_call_at
      ? ok(check, since)
      : warn(check, `${since}, refused: ${last_error}`, 'see the table of reasons in docs/guides/scim.md')
  })
}
const CREATE_SCIM_KEY = '`service admin api-key create --name NAME --capability scim --provider SLUG`'

/** What only the running server can know of its surroundings. */
async function noticed(config: Config, env: Env): Promise<Finding[]> {
  const { attention = [], concerns = [] } = await askStatus(config, env)
  return [
    ...attention.flatMap(({ kind, severity, text }) => {
      const known = NOTICED.find((each) => each === kind)
      return known ? (severity === 'bad' ? fail : warn)(known, text, REMEDIES[known]) : []
    }),
    ...concerns
      .filter(({ key }) => key === 'server.trusted_proxies')
      .map(({ key, because, instead }) => warn(key, because, instead)),
  ]
}
/** What no other check of `service doctor` looks at. */
const NOTICED = ['instances', 'document', 'database'] as const

/** The failures of clients that a setting can correct. */
async function clients(config: Config, env: Env): Promise<Finding[]> {
  const query = { limit: MAX_TRAILS }
  const trails = await askServer(config, env, 'connection', 'list', query)
  return clientFindings(trails as ClientTrail[])
}
const MAX_TRAILS = 2000

/** The status of the running server. Each check asks for itself, so that each reports a failure. */
const askStatus = async (config: Config, env: Env) =>
  (await askServer(config, env, 'system', 'status')) as z.output<typeof systemStatus>

/** Runs an operation of the admin API on the running server. */
export const askServer = (
  config: Config,
  env: Env,
  resource: string,
  word: string,
  query = {},
  params = {},
): Promise<unknown> => runAction({ config, env }, actionNamed(resource, word), { params, query })
