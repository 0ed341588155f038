// Checks of records, which doctor reads from the running server by the admin API.

import type { z } from 'zod'
import type { provider, providerCheck } from '../../admin/answers/answers.ts'
import type { systemStatus } from '../../admin/answers/service.ts'
import { type ClientTrail, clientFindings } from '../../admin/clients/client_findings.ts'
import { REMEDIES } from '../../admin/doctor.ts'
import { type Finding, fail, ok, warn } from '../../admin/finding.ts'
import { actionNamed } from '../../admin/index.ts'
import type { Config } from '../../config/schema.ts'
import type { AdminClient } from '../send.ts'
import { checkReferences } from './references.ts'

/** Checks providers, keys of issuers, clients, and references between records. */
export async function checkRecords(sender: AdminClient, config: Config): Promise<Finding[]> {
  return [
    await unlessUnread('broker providers', brokerProviders(sender)),
    await unlessUnread('addresses of providers', blockedHosts(sender, 'provider')),
    await unlessUnread('addresses of identity providers', blockedHosts(sender, 'idp')),
    await unlessUnread('keys of identity providers', issuerKeys(sender)),
    await unlessUnread('scim', config.scim.enabled ? scimProviders(sender) : []),
    await unlessUnread('what the server noticed', noticed(sender)),
    await unlessUnread('clients', clients(sender)),
    await unlessUnread('references', checkReferences(sender, config)),
  ].flat()
}

/** The findings. A check that could not be made is a warning: without it, the records would look right. */
export const unlessUnread = (check: string, findings: Finding[] | Promise<Finding[]>): Promise<Finding[]> =>
  Promise.resolve(findings).catch((error: Error) => [
    warn(check, `not checked: ${error.message}`, 'use the admin.api_key of the running server, or see its log'),
  ])

type ShownCheck = z.output<typeof providerCheck>

/** Checks the providers of broker resources from the server, which has their secrets. */
async function brokerProviders(sender: AdminClient): Promise<Finding[]> {
  const all = (await askServer(sender, 'provider', 'list')) as z.output<typeof provider>[]
  return Promise.all(
    all
      .filter(({ protocol }) => protocol === 'oauth')
      .map(async ({ slug }) => {
        const check = `broker provider ${slug}`
        const asked = askServer(sender, 'provider', 'check', { params: { id: slug } }) as Promise<ShownCheck>
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
async function blockedHosts(sender: AdminClient, resource: 'provider' | 'idp'): Promise<Finding[]> {
  const all = await askServer(sender, resource, 'list')
  return (all as { id: string; warning?: string }[]).flatMap(({ id, warning }) =>
    warning ? [fail(`${resource} ${id}`, warning, 'add the host to this list if requests may go to it')] : [],
  )
}

/** The keys of the identity providers whose assertions are accepted, as the server fetches them. */
async function issuerKeys(sender: AdminClient): Promise<Finding[]> {
  const { providers = [] } = await askStatus(sender)
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
async function scimProviders(sender: AdminClient): Promise<Finding[]> {
  const { providers = [] } = await askStatus(sender)
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
async function noticed(sender: AdminClient): Promise<Finding[]> {
  const { attention = [], concerns = [] } = await askStatus(sender)
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
async function clients(sender: AdminClient): Promise<Finding[]> {
  const trails = await askServer(sender, 'connection', 'list', { query: { limit: MAX_TRAILS } })
  return clientFindings(trails as ClientTrail[])
}
const MAX_TRAILS = 2000

/** The status of the running server. Each check asks for itself, so that each reports a failure. */
const askStatus = async (sender: AdminClient) =>
  (await askServer(sender, 'system', 'status')) as z.output<typeof systemStatus>

/** Runs an operation of the admin API on the running server. */
export const askServer = (sender: AdminClient, resource: string, word: string, { params = {}, query = {} } = {}) =>
  sender.send(actionNamed(resource, word), { params, query })
