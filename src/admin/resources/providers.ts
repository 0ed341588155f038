// Admin operations on broker providers. The fields and their rules are those of config/provider_record.ts.
import { z } from 'zod'
import { checkBrokerProvider } from '../../broker/check.ts'
import { newProvider } from '../../broker/provider.ts'
import {
  calledEndpointsOf,
  endpointsOf,
  type ProviderRecord,
  providerFields,
  providerRecord,
} from '../../config/provider_record.ts'
import type { App } from '../../context.ts'
import { bool, slug } from '../../lib/field.ts'
import { dated } from '../../lib/time.ts'
import type { BrokerProvider } from '../../records/broker_provider.ts'
import { type AdminResource, action, type FlagRule } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { newProviderForm, providerForm } from '../forms/provider_forms.ts'
import { changedFields, changesOf, conflict, existing, invalid, notFound, parsed } from '../outcome.ts'
import { withHostWarning } from '../unreachable.ts'

const patchable = z.strictObject(providerFields).partial()

/** A provider in the form of the admin API. */
const providerJson = ({ version: _, ...provider }: BrokerProvider) => dated(provider)

/** The same with a warning when requests to its endpoints are refused. The authorization endpoint is for browsers. */
const providerShown = (app: App, provider: BrokerProvider) =>
  withHostWarning(
    app,
    providerJson(provider),
    calledEndpointsOf(provider).map((url) => ['connect', url] as const),
  )

/** Finds a provider by id or slug. Throws not_found. */
export const getProvider = ({ store }: App, name: string) => existing('broker provider', store.findProvider({ name }))

/** Over plain http, secrets are sent unencrypted. It is accepted only for development on one machine. */
function checkEndpoints({ config }: App, record: ProviderRecord): void {
  if (!config.cimd.allow_private_addresses && endpointsOf(record).some((each) => !/^https:/i.test(each)))
    throw invalid('the URLs of config_data must use https', 'insecure_endpoint')
}

const taken = () => conflict('a broker provider with this slug exists already', 'provider_exists')
const facts = ({ id, slug, protocol }: BrokerProvider) => ({ broker_provider_id: id, slug, protocol })
/** What to do, by the reason of a failed check. */
const FIXES: Readonly<Record<string, string>> = {
  upstream_invalid_client: 'copy client_id and the secret from the provider again',
  upstream_unauthorized_client:
    'copy client_id and the secret from the provider again, and allow the authorization code grant there',
  upstream_blocked_address: 'add the host to connect.allow_hosts of the configuration',
  secret_missing: 'set the variable that client_secret_ref names in the environment of the server',
  provider_config: 'config_data does not match the protocol: see docs/guides/broker.md',
}
const fixOf = (reason: string): string => FIXES[reason] ?? 'check token_url, DNS, the network and the provider'

const configFlag: FlagRule = {
  field: 'config_data',
  doc: 'JSON file with the settings of the protocol. - reads standard input.',
  value: 'file',
  json: true,
}
const cli = { flags: { 'config-data': configFlag } }

export const providers: AdminResource = {
  name: 'provider',
  doc: 'Upstream providers of tokens for broker resources.',
  lookup: { slug: { doc: 'Slug of the provider.' } },
  columns: ['slug', 'display_name', 'protocol', 'id'],
  actions: {
    list: action('GET /admin/broker-providers', {
      doc: 'Lists broker providers, oldest first.',
      answer: z.union([z.array(answers.provider), answers.provider]),
      query: z.strictObject({ slug: slug().optional().describe('Shows the one provider with this slug.') }),
      cli: { without: ['slug'] },
      async run(app, { query }) {
        if (query.slug !== undefined) return { shown: await providerShown(app, await getProvider(app, query.slug)) }
        const all = await app.store.listProviders()
        return { shown: await Promise.all(all.map((provider) => providerShown(app, provider))) }
      },
    }),
    create: action('POST /admin/broker-providers', {
      doc: 'Creates a broker provider.',
      answer: answers.provider,
      status: 201,
      form: newProviderForm,
      body: providerRecord,
      needs: 'admin',
      audit: 'broker_provider_created',
      cli,
      async run(app, { body }, by) {
        checkEndpoints(app, body)
        const provider = newProvider(body, app.clock.now())
        if ((await by.record('createProvider', provider, { detail: facts(provider) })) === 'exists') throw taken()
        return { shown: await providerShown(app, provider) }
      },
    }),
    get: action('GET /admin/broker-providers/{id}', {
      doc: 'Shows a broker provider by its id or slug.',
      answer: answers.provider,
      run: async (app, { params }) => ({ shown: await providerShown(app, await getProvider(app, params.id)) }),
    }),
    check: action('GET /admin/broker-providers/{id}/check', {
      doc: 'Checks that a broker provider answers and accepts the client id and secret. It sends a code that does not exist, so nothing changes.',
      answer: answers.providerCheck,
      async run(app, { params }) {
        const provider = await getProvider(app, params.id)
        if (provider.protocol !== 'oauth')
          throw invalid('only a provider with the protocol oauth can be checked', 'not_oauth')
        const { usable, reason } = await checkBrokerProvider(app, provider)
        return { shown: { usable, ...(reason === undefined ? {} : { reason, fix: fixOf(reason) }) } }
      },
    }),
    update: action('PATCH /admin/broker-providers/{id}', {
      doc: 'Changes the named members of a broker provider. config_data is replaced as a whole. A new slug applies to its resources too.',
      answer: answers.provider,
      form: providerForm,
      body: patchable,
      needs: 'admin',
      audit: 'broker_provider_updated',
      cli,
      async run(app, { params, body }, by) {
        const stored = await getProvider(app, params.id)
        const fields = changedFields(stored, body)
        if (fields.length === 0) return { shown: await providerShown(app, stored) }
        const next = { ...stored, ...merged(app, stored, body), updated_at: app.clock.now() }
        const outcome = await by.record('updateProvider', next, {
          detail: { ...facts(next), ...changesOf(stored, next, fields) },
        })
        if (outcome === 'exists') throw taken()
        return { shown: await providerShown(app, next) }
      },
    }),
    delete: action('DELETE /admin/broker-providers/{id}', {
      doc: 'Deletes a broker provider that no resource uses. A provider with connected users is deleted only with cascade.',
      query: z.strictObject({ cascade: bool().prefault(false).describe('End the connections of users too.') }),
      needs: 'admin',
      audit: 'broker_provider_deleted',
      async run(app, { params, query: { cascade } }, by) {
        const provider = await getProvider(app, params.id)
        const deletion = { id: provider.id, cascade, now: app.clock.now() }
        const outcome = await by.record('deleteProvider', deletion, { detail: { ...facts(provider), cascade } })
        if (outcome === undefined) throw notFound('broker provider')
        if (outcome === 'has_resources') throw conflict('resources use it', 'has_resources')
        if (outcome === 'has_grants')
          throw conflict('users are connected to it; cascade ends their connections', 'has_grants')
      },
    }),
  },
}

/** Applies a patch to a stored provider and checks the result as a whole. Throws invalid_request. */
function merged(app: App, stored: BrokerProvider, patch: z.output<typeof patchable>): ProviderRecord {
  const { slug, display_name, protocol, config_data } = stored
  const record = parsed(providerRecord, { slug, display_name, protocol, config_data, ...patch })
  checkEndpoints(app, record)
  return record
}
