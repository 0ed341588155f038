// The forms of resources, and of what refers to them, on the admin page.
import type { FormRules } from './form.ts'

/** The form of a resource. */
export const resourceForm: FormRules = {
  fields: {
    broker_provider_slug: { kind: 'provider', when: ['backend_kind', 'broker'] },
    'scopes.groups': { kind: 'group' },
    access_token_typ: { advanced: true },
    access: { advanced: true },
    'access.groups': { kind: 'group' },
    'access.users': { kind: 'user' },
    token_claims: { advanced: true },
    policy: { advanced: true },
    'policy.exchange.allowed_client_ids': { kind: 'client' },
    'policy.runtime.client_ids': { kind: 'client' },
  },
}

/** The form of a fronting link. */
export const frontingForm: FormRules = {
  fields: { source: { kind: 'resource' }, target: { kind: 'resource' }, scope_map: { kind: 'scope_map' } },
}

/** The form of a policy for assertions. */
export const policyForm: FormRules = {
  fields: { client_ids: { kind: 'client' }, scopes: { kind: 'scope' }, resources: { kind: 'resource_uri' } },
}

/** The form of a subject mapping. */
export const mappingForm: FormRules = { fields: { local_subject: { kind: 'user' } } }

/** The form of a user. */
export const userForm: FormRules = {
  fields: {
    groups: { kind: 'group' },
    role: { advanced: true },
    email_verified: { advanced: true },
    given_name: { advanced: true },
    family_name: { advanced: true },
    preferred_username: { advanced: true },
    locale: { advanced: true },
  },
}

/** The forms that name a client, a user and a resource to try a request. */
export const tryForm: FormRules = {
  fields: {
    client_id: { kind: 'client' },
    user: { kind: 'user' },
    actor: { kind: 'client' },
    resource: { kind: 'resource_uri' },
    scope: { kind: 'scope' },
    source: { kind: 'resource_uri' },
  },
}
