// Admin operations on the consents and upstream connections of users.
import { z } from 'zod'
import { connect, disconnect } from '../../broker/connection.ts'
import type { App } from '../../context.ts'
import { name, text } from '../../lib/field.ts'
import { isId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { BrokerGrant } from '../../records/broker_grant.ts'
import type { BrokerProvider } from '../../records/broker_provider.ts'
import type { Consent } from '../../records/consent.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { existing, invalid, notFound } from '../outcome.ts'
import { getProvider } from '../resources/providers.ts'
import { getUser } from './people.ts'

/** A consent in the form of the admin API. */
const consentJson = ({ scope, redirect_hosts: _, ...consent }: Consent, resource_slug: string | undefined) =>
  dated({ ...consent, resource_slug, scopes: scopeNames(scope) })

/** A connection in the form of the admin API, without its credential. */
const brokerGrantJson = (
  { credential: _, leased_until: _lease, ...grant }: BrokerGrant,
  providers: readonly BrokerProvider[],
) =>
  dated({
    ...grant,
    broker_provider_slug: providers.find(({ id }) => id === grant.broker_provider_id)?.slug ?? '',
    scopes_granted: scopeNames(grant.scopes_granted),
  })

export const consentGrants: AdminResource = {
  name: 'grant',
  doc: 'Consents of users, and their connections to upstream providers.',
  actions: {
    listUserGrants: action('GET /admin/users/{id}/grants', {
      doc: 'Lists the consents and upstream grants of a user, including revoked ones.',
      answer: answers.grantsOfUser,
      cli: { flags: { user: { field: 'id', doc: 'Id of the user.' } } },
      async run(app, { params }) {
        const { id } = await getUser(app, params.id)
        const consents = await app.store.listConsents({ user_id: id })
        const connections = await app.store.listBrokerGrants({ user_id: id })
        const providers = await app.store.listProviders()
        const broker_grants = connections.map((each) => brokerGrantJson(each, providers))
        const slugs = await slugsOf(app, consents)
        const consent_grants = consents.map((each) => consentJson(each, slugs.get(each.resource_id)))
        return { shown: { consent_grants, broker_grants } }
      },
    }),
    revokeConsent: action('DELETE /admin/grants/consent/{id}', {
      doc: 'Revokes a consent and every token that depends on it. The user is asked again.',
      audit: 'consent_revoked',
      cli: { flags: { id: { field: 'id', doc: 'Id of the consent, as list-user-grants shows it.' } } },
      async run({ store, clock }, { params: { id } }, by) {
        const known = await existing('consent', isId(id) ? store.findConsentById({ id }) : undefined)
        const { client_id, user_id, resource_id } = known
        const change = { client_id, detail: { consent_id: id, user_id, resource_id } }
        await by.record('revokeConsent', { id, now: clock.now() }, change)
      },
    }),
    revokeSignIn: action('DELETE /admin/grants/sign-in/{id}', {
      doc: 'Ends one sign-in of a user at a client: its refresh tokens and access tokens. The consent stays. The id is the family of a token in the audit trail.',
      audit: 'token_revoked',
      cli: { flags: { id: { field: 'id', doc: 'Id of the sign-in: the family of its tokens.' } } },
      async run({ store, clock }, { params: { id } }, by) {
        const known = await existing('sign-in', isId(id) ? store.findFamily({ id }) : undefined)
        const change = { client_id: known.client_id, detail: { token_type: 'refresh_token', family: id } }
        await by.record('revokeFamily', { id, reason: 'emergency', now: clock.now() }, change)
      },
    }),
    createBroker: action('POST /admin/grants/broker', {
      doc: 'Connects a user to a provider through its service account. For a connected user it replaces the impersonated subject.',
      answer: answers.madeConnection,
      status: 201,
      needs: 'admin',
      audit: 'broker_grant_created',
      body: z.strictObject({
        user_id: text(256).describe('Id of the user.'),
        broker_provider: text(256).describe('Slug or id of the provider.'),
        impersonate_sub: name(320).describe('Subject that the service account impersonates at the provider.'),
      }),
      cli: { flags: { user: { field: 'user_id' }, provider: { field: 'broker_provider' } } },
      async run(app, { body: { user_id, broker_provider, impersonate_sub } }, by) {
        const user = await getUser(app, user_id)
        const provider = await getProvider(app, broker_provider)
        if (provider.protocol !== 'service_account')
          throw invalid('this provider has no service account: users connect to it themselves', 'not_a_service_account')
        const credential = { impersonate_sub, tokens: [] }
        const connection = { user_id: user.id, credential, granted: [] }
        const made = await existing('broker provider', connect(app, provider, connection, by, { impersonate_sub }))
        return { shown: { id: made.id, user_id: user.id, broker_provider_id: provider.id, impersonate_sub } }
      },
    }),
    revokeBroker: action('DELETE /admin/grants/broker/{id}', {
      doc: 'Ends the connection of a user to a provider. Tokens of the provider that were already issued can be ended only at the provider.',
      audit: 'broker_grant_revoked',
      cli: { flags: { id: { field: 'id', doc: 'Id of the connection, as list-user-grants shows it.' } } },
      async run(app, { params: { id } }, by) {
        if (!isId(id) || !(await disconnect(app, id, by))) throw notFound('upstream connection')
      },
    }),
  },
}

/** The slugs of the resources of consents, by id. */
async function slugsOf({ store }: App, consents: readonly Consent[]): Promise<Map<string, string>> {
  const ids = [...new Set(consents.map(({ resource_id }) => resource_id))]
  const found = await Promise.all(ids.map((name) => store.findResourceByName({ name })))
  return new Map(found.flatMap((resource) => (resource ? [[resource.id, resource.slug]] : [])))
}
