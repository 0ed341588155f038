// Changes that need the capability admin although operators may make others of the same record: a right that an operator does not have must
// not hang on a member that an operator may write.
import { isDeepStrictEqual } from 'node:util'
import { protocolOf } from '../broker/protocols.ts'
import { upstreamScopes } from '../broker/provider.ts'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { listAllResources } from '../oauth/tokens/resource.ts'
import { type Capability, includesCapability } from '../records/api_key.ts'
import type { Client } from '../records/client.ts'
import type { FrontingLink } from '../records/fronting_link.ts'
import type { Resource, ResourceScope } from '../records/resource.ts'
import type { User } from '../records/user.ts'

interface Holder {
  capability: Capability
}

/** Throws access_denied if the caller lacks a capability. `what` is what needs it. */
export function requireCapability({ capability }: Holder, needs: Capability, what = 'this'): void {
  if (includesCapability(capability, needs)) return
  throw new OAuthError('access_denied', `${what} needs the capability ${needs}; the caller has ${capability}`, {
    reason: 'missing_capability',
  })
}

/**
 * Throws access_denied if the caller lacks the capability admin, and one of these users is, or becomes, an admin who may sign in with a passkey:
 * who sets the password, the email or the role of such a user, or removes the factors, gets or takes the capability.
 */
export function checkAdminUsers(
  { config }: App,
  by: Holder,
  ...users: readonly Pick<User, 'role' | 'provider'>[]
): void {
  const { enabled, local } = config.admin.sign_in
  if (enabled && local && users.some(({ role, provider }) => role === 'admin' && provider === 'local'))
    requireCapability(by, 'admin', 'a change of a user with the role admin')
}

/** Throws access_denied if an admin has second factors, and the caller may not reset them: without the role the caller could. */
export async function checkRoleChange({ store }: App, by: Holder, { id: user_id, role }: User): Promise<void> {
  if (role === 'admin' && (await store.listFactors({ user_id })).length > 0)
    requireCapability(by, 'admin', 'another role of an admin with a second factor')
}

/**
 * Who sets a password, or makes a link for it, can sign in as the user, and then get the tokens of the providers that the user is connected to.
 * Throws access_denied if the user has connections and the caller may not connect users.
 */
export async function checkPasswordChange({ store }: App, by: Holder, user_id: string): Promise<void> {
  for (const { revoked_at, broker_provider_id: name } of await store.listBrokerGrants({ user_id })) {
    const provider = revoked_at === undefined ? await store.findProvider({ name }) : undefined
    // A connection that every user has without connecting belongs to no single user.
    if (provider && !protocolOf(provider).initialCredential?.(provider))
      requireCapability(by, 'admin', `a new password for a user who is connected to ${provider.slug}`)
  }
}

/**
 * Throws access_denied if a new or changed resource could give a client a token of a provider for another person, and the caller may not change
 * providers. Users agree to names and texts, so these count as well. To remove, and to give access to users, needs less.
 */
export async function checkResourceChange(app: App, by: Holder, next: Resource, before?: Resource): Promise<void> {
  if (includesCapability(by.capability, 'admin')) return
  const member = before ? widenedMember(next, before) : 'a new record'
  if (member === undefined) return
  const leads = (await leadsToProvider(app, next)) || (before !== undefined && (await leadsToProvider(app, before)))
  if (leads) requireCapability(by, 'admin', `${member} of a resource that leads to tokens of a provider`)
}

/** Throws access_denied if a fronting link would reach further scopes of a broker resource, and the caller may not change providers. */
export function checkLinkChange(
  by: Holder,
  { backend_kind }: Resource,
  next: FrontingLink['scope_map'],
  before: FrontingLink['scope_map'] = {},
): void {
  if (backend_kind !== 'broker') return
  const isKnown = ([name, targets]: [string, string[]]) => targets.every((each) => before[name]?.includes(each))
  if (!Object.entries(next).every(isKnown))
    requireCapability(by, 'admin', 'a fronting link that reaches further scopes of a broker resource')
}

/**
 * Throws access_denied if a client gets a further credential, a resource that leads to tokens of a provider lists the client, and the caller may
 * not change providers. To remove credentials needs less. `before` is absent for a new client.
 */
export async function checkClientChange(app: App, by: Holder, next: Client, before?: Client): Promise<void> {
  if (includesCapability(by.capability, 'admin')) return
  const old = before && credentialsOf(before)
  const isKnown = (each: unknown) => old?.some((other) => isDeepStrictEqual(other, each))
  if (credentialsOf(next).every(isKnown) && before) return
  for (const resource of await listAllResources(app)) {
    const { exchange, runtime } = resource.policy
    const isListed = [...exchange.allowed_client_ids, ...runtime.client_ids].includes(next.client_id)
    if (isListed && (await leadsToProvider(app, resource)))
      requireCapability(
        by,
        'admin',
        `a credential of a client of ${resource.slug}, which leads to tokens of a provider,`,
      )
  }
}

/** What a client proves its identity with, and where its codes are sent. */
const credentialsOf = ({ secrets = [], jwks, jwks_uri, redirect_uris, ...client }: Client): unknown[] => [
  ...secrets.map(({ hash }) => ({ hash })),
  ...(jwks?.keys ?? []),
  ...(jwks_uri === undefined ? [] : [{ jwks_uri }]),
  ...(client.federated_credentials ?? []),
  ...redirect_uris,
  // Only the method of a client with a metadata document can change: without a key the client would only name itself.
  ...(client.token_endpoint_auth_methods_supported ?? [client.token_endpoint_auth_method]).map((method) => ({
    method,
  })),
]

const IDENTITY = ['slug', 'uri', 'backend_kind', 'broker_provider_slug', 'display_name'] as const

/** The first member of a changed resource that is not the same or less than before. Access rules and the connect flow lead to no token of another person. */
function widenedMember(next: Resource, before: Resource): string | undefined {
  const changed = IDENTITY.find((member) => next[member] !== before[member])
  if (changed) return `another ${changed}`
  if (!next.scopes.every((scope) => isOneOf(scope, before))) return 'another scope'
  const [lists, old] = [next, before].map(({ policy: { exchange, runtime } }) => [
    exchange.allowed_client_ids,
    runtime.client_ids,
  ]) as [string[][], string[][]]
  if (lists.some((list, i) => list.some((id) => !old[i]?.includes(id)))) return 'a further client'
  // Without clients on the list, the servers of other resources may exchange.
  if (lists[0]?.length === 0 && old[0]?.length !== 0) return 'an empty exchange list'
  return undefined
}

/** Whether a resource has a scope under the same name and texts, with at least its upstream scopes. */
function isOneOf({ name, description, descriptions, upstream }: ResourceScope, before: Resource): boolean {
  const old = before.scopes.find((each) => each.name === name)
  if (!old || old.description !== description || !isDeepStrictEqual(old.descriptions, descriptions)) return false
  const known = upstreamScopes(before, [name])
  return upstreamScopes({ scopes: [{ name, description, upstream }] }, [name]).every((each) => known.includes(each))
}

/**
 * Whether a token or a consent for a resource can be exchanged for a token of a provider: it is a broker resource, a fronting link leads from it
 * to one, or its servers may exchange into a broker resource that lists no clients and has a scope of the same name.
 */
async function leadsToProvider(app: App, { slug, backend_kind, policy, ...resource }: Resource): Promise<boolean> {
  if (backend_kind === 'broker') return true
  const brokers = (await listAllResources(app)).filter((each) => each.backend_kind === 'broker')
  if (brokers.length === 0) return false
  const links = await app.store.listFrontingLinks({ slug })
  if (links.some((link) => link.source_slug === slug && brokers.some((each) => each.slug === link.target_slug)))
    return true
  if (policy.runtime.client_ids.length === 0) return false
  const names = resource.scopes.map(({ name }) => name)
  return brokers.some(
    ({ policy: { exchange }, scopes }) =>
      exchange.allowed_client_ids.length === 0 && scopes.some(({ name }) => names.includes(name)),
  )
}
