// Admin operations on what users allowed.
import { isId } from '../lib/id.ts'
import { rfc3339 } from '../lib/time.ts'
import { scopeNames } from '../oauth/resource.ts'
import type { Consent } from '../oauth/types.ts'
import { type AdminResource, action } from './action.ts'
import { notFound } from './outcome.ts'
import { getUser } from './users.ts'

/** A consent as the admin API shows it. */
const consentJson = (consent: Consent) => ({
  id: consent.id,
  user_id: consent.user_id,
  client_id: consent.client_id,
  resource_id: consent.resource_id,
  scopes: scopeNames(consent.scope),
  created_at: rfc3339(consent.created_at),
  updated_at: rfc3339(consent.updated_at),
  ...(consent.revoked_at === undefined ? {} : { revoked_at: rfc3339(consent.revoked_at) }),
})

export const grants: AdminResource = {
  name: 'grant',
  doc: 'What users allowed clients to do.',
  actions: {
    listUserGrants: action({
      method: 'GET',
      path: '/admin/users/{id}/grants',
      doc: 'Lists the consents and upstream grants of a user, revoked ones included.',
      cli: { flags: { user: { field: 'id', doc: 'Id of the user.' } } },
      async run(app, { params }) {
        const { id } = await getUser(app, params.id)
        const consents = await app.store.listConsents({ user_id: id })
        return { shown: { consent_grants: consents.map(consentJson), broker_grants: [] } }
      },
    }),
    revokeConsent: action({
      method: 'DELETE',
      path: '/admin/grants/consent/{id}',
      doc: 'Revokes a consent and at once every token that rests on it; the user is asked again.',
      status: 204,
      audit: 'consent_revoked',
      async run({ store, clock }, { params: { id } }) {
        const revoked = isId(id) ? await store.revokeConsent({ id, now: clock.now() }) : undefined
        if (!revoked) throw notFound('consent')
        const { consent, families } = revoked
        if (consent.revoked_at !== undefined) return {}
        const { client_id, user_id, resource_id } = consent
        return { changed: { client_id, detail: { consent_id: id, user_id, resource_id, families } } }
      },
    }),
  },
}
