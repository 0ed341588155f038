// The rules that decide on a token, as explain shows them: the reasons of its refusals, where each rule is set, and how to
// change it. The rules themselves are in oauth and grants; explain_grants.ts runs them.
import type { Grant } from '../../grants/grant.ts'
import { isPublic } from '../../oauth/clients/client_metadata.ts'
import { isOpenIdScope, isSignIn } from '../../oauth/openid.ts'
import { admittedBy } from '../../oauth/tokens/access.ts'
import type { BrokerGrant } from '../../records/broker_grant.ts'
import type { Client } from '../../records/client.ts'
import type { FrontingLink } from '../../records/fronting_link.ts'
import type { Resource } from '../../records/resource.ts'
import { personOf, type User } from '../../records/user.ts'

/** The request to explain. */
export interface ExplainedRequest {
  grant: string
  client_id: string
  user?: string
  /** Absent for a request that only signs the user in. */
  resource?: string
  scope?: string
  actor?: string
  source?: string
}

/** The records that were found so far. The texts of the rules name them. */
export interface Scene {
  readonly asked: ExplainedRequest
  readonly grant: Grant
  client?: Client
  user?: User
  resource?: Resource
  /** Whether oauth.openid is on, and the scopes that would be granted. Undefined until all rules have passed. */
  openid?: { enabled: boolean; granted: readonly string[] }
  /** Scopes that the user may not have. */
  left_out?: readonly string[]
  /** Whether the user has consented to the client at the resource. */
  consented?: boolean
  /** The resource that the exchanged token is for. */
  source?: Resource
  /** The fronting link from it to the resource. */
  link?: FrontingLink
  /** The resources whose fronting links lead to the resource. */
  linked?: readonly string[]
  /** The connection of the user to the provider of a broker resource. */
  connection?: BrokerGrant
}

interface RuleText {
  /** The reasons of refusals by this rule. */
  readonly reasons: RegExp
  where(scene: Scene): string
  change(scene: Scene): string
}

const nameOfResource = ({ resource, asked }: Scene): string => resource?.slug ?? asked.resource ?? 'none'
const NO_RESOURCE = 'not asked: the request names no resource'
const nameOfUser = ({ user, asked }: Scene): string => user?.email ?? user?.id ?? asked.user ?? 'the subject'
const callerOf = ({ asked }: Scene): string => asked.actor ?? asked.client_id
const groupsCommand = ({ user, asked }: Scene): string =>
  `service admin user update --id ${user?.id ?? asked.user} --groups …`

/** The part of `access` that admits the user, or that would have to. */
function accessPlace(scene: Scene): string {
  const { resource, user, asked } = scene
  if (asked.resource === undefined) return NO_RESOURCE
  const by = resource && admittedBy(resource.access, user && personOf(user))
  const place = `access of the resource ${nameOfResource(scene)}`
  if (!resource || by === 'everyone') return `${place}: everyone`
  return by ? `${place}: ${nameOfUser(scene)} is admitted by ${by}` : `${place}: restricted`
}

function accessChange(scene: Scene): string {
  const { resource } = scene
  const groups = resource?.access.groups ?? []
  const join =
    groups.length > 0
      ? `Add ${nameOfUser(scene)} to one of the groups ${groups.join(', ')}: ${groupsCommand(scene)}. `
      : ''
  return `${join}Or change who may use it: service admin resource update --slug ${nameOfResource(scene)} --access …`
}

function scopeGroupsPlace(scene: Scene): string {
  if (scene.asked.resource === undefined) return NO_RESOURCE
  const left_out = scene.left_out ?? []
  const place = `groups of the scopes of the resource ${nameOfResource(scene)}`
  return left_out.length > 0 ? `${place}: ${nameOfUser(scene)} may not have ${left_out.join(' ')}` : place
}

function scopeGroupsChange(scene: Scene): string {
  const rules = (scene.resource?.scopes ?? [])
    .filter(({ name }) => scene.left_out?.includes(name))
    .map(({ name, groups = [] }) => `${name} is for ${groups.join(', ')}`)
  const about = rules.length > 0 ? `${rules.join('; ')}. ` : ''
  return `${about}Change the groups of the user: ${groupsCommand(scene)}, or the scopes: service admin resource update --slug ${nameOfResource(scene)} --scopes …`
}

/** The fronting link that the exchange would use. */
function linkPlace(scene: Scene): string {
  const { source, link, linked = [] } = scene
  const target = nameOfResource(scene)
  if (link) return `fronting link from ${link.source_slug} to ${target}`
  if (source) return `no fronting link leads from ${source.slug} to ${target}`
  return linked.length === 0
    ? `no fronting link leads to ${target}`
    : `fronting links lead to ${target} from ${linked.join(', ')}; without a source none of them is checked`
}

function linkChange(scene: Scene): string {
  const { source, link, linked = [] } = scene
  const target = nameOfResource(scene)
  if (link)
    return `Change the link: service admin fronting update --source ${link.source_slug} --target ${target} --scope-map …, or the lists of clients: service admin resource policy …`
  const from = source?.slug ?? '…'
  const known =
    linked.length > 0 && !source ? `Explain it with source ${linked.join(' or ')}. Or create a link` : 'Create a link'
  return `${known}: service admin fronting create --source ${from} --target ${target} --scope-map …`
}

function connectionPlace(scene: Scene): string {
  const { resource, connection } = scene
  if (resource?.backend_kind === 'mint') return `not needed: ${nameOfResource(scene)} is not a broker resource`
  const place = `connection of ${nameOfUser(scene)} to the provider ${resource?.broker_provider_slug ?? 'of the resource'}`
  if (!connection) return `${place}: none`
  return `${place}: ${connection.scopes_granted ? `has the scopes ${connection.scopes_granted}` : 'connected'}`
}

function connectionChange(scene: Scene): string {
  const { resource } = scene
  if (resource?.backend_kind === 'mint') return 'Nothing.'
  return `The user connects at /connect/${resource?.broker_provider_slug}?resource=${nameOfResource(scene)}&return_url=…`
}

/** The consent. A fronting link, or the list of a broker resource, replaces it. */
const consentPlace = (scene: Scene): string =>
  scene.link
    ? 'not asked: the fronting link replaces the consent'
    : `consent of ${nameOfUser(scene)} to the client ${scene.asked.client_id} ${scene.asked.resource === undefined ? 'for the sign-in' : `at the resource ${nameOfResource(scene)}`}: ${scene.consented ? 'given' : 'not given yet'}`

/** Whether an ID token would be issued, and why not. */
function openIdPlace({ openid }: Scene): string {
  if (!openid) return 'configuration key oauth.openid'
  if (!openid.enabled) return 'oauth.openid is false: OpenID scopes are left out, and no ID token is issued'
  const granted = openid.granted.filter(isOpenIdScope)
  const names = granted.length > 0 ? `OpenID scopes granted: ${granted.join(' ')}` : 'no OpenID scope is granted'
  return `oauth.openid is true; ${names}; ${isSignIn(granted) ? 'an' : 'no'} ID token is issued`
}

function openIdChange(scene: Scene): string {
  const { enabled = true, granted = [] } = scene.openid ?? {}
  if (!enabled) return 'Set oauth.openid: true.'
  if (isSignIn(granted)) return 'Nothing.'
  return `The client requests the scope openid. A scope that an operator set must contain it: service admin client update --id ${callerOf(scene)} --scopes …`
}

/** By name. */
export const EXPLAINED_RULES = {
  grant_enabled: {
    reasons: /^grant_disabled$/,
    where: ({ grant }) => (grant.switch ? `configuration key ${grant.switch}` : 'always enabled'),
    change: ({ grant }) => (grant.switch ? `Set ${grant.switch}: true.` : 'It cannot be disabled.'),
  },
  client_active: {
    reasons: /^(unknown_client|client_suspended|client_not_approved|client_denied|client_host_not_allowed|cimd_.*)$/,
    where: (scene) => `client ${callerOf(scene)}: ${scene.client?.status ?? 'not registered'}`,
    change: (scene) =>
      scene.client
        ? `service admin client reactivate --id ${callerOf(scene)}; with clients.approval: service admin client-request list`
        : 'Register the client: service admin client create …',
  },
  client_confidential: {
    reasons: /^public_client(_not_allowed)?$/,
    where: ({ client, asked }) =>
      `client ${asked.client_id}: ${client && isPublic(client) ? 'public' : 'authenticates itself'}`,
    change: ({ client, grant }) =>
      client?.registration_source === 'cimd' && grant.name === 'jwt_bearer'
        ? 'Set xaa.allow_public_clients: true, or have the client publish keys (private_key_jwt).'
        : 'Register a client with another token_endpoint_auth_method than none.',
  },
  grant_registered: {
    reasons: /^grant_not_registered$/,
    where: (scene) => `client ${callerOf(scene)}: grant_types`,
    change: (scene) => `service admin client update --id ${callerOf(scene)} --grant-types …`,
  },
  user_active: {
    reasons: /^(unknown_user|user_inactive)$/,
    where: (scene) => `user ${nameOfUser(scene)}: ${scene.user?.status ?? 'not known here'}`,
    change: ({ user }) =>
      user
        ? `PATCH /admin/users/${user.id}/enable, or on the admin page`
        : 'Create the user, or map the subject to one.',
  },
  resource_known: {
    reasons: /^(resource_not_found|root_slash|broker_resource)$/,
    where: (scene) =>
      scene.asked.resource === undefined
        ? 'no resource: a token of a sign-in is for userinfo only'
        : `resource ${nameOfResource(scene)}`,
    change: () => 'Register the resource under exactly this URI: service admin resource create …',
  },
  scope: {
    reasons: /scope|default_scope_empty/,
    where: (scene) =>
      `${scene.asked.resource === undefined ? 'OpenID scopes' : `scopes of the resource ${nameOfResource(scene)}`}, and scope of the client ${callerOf(scene)}`,
    change: (scene) =>
      `service admin resource update --slug ${nameOfResource(scene)} --scopes …, or service admin client update --id ${callerOf(scene)} --scopes …`,
  },
  fronting_link: { reasons: /^fronting_/, where: linkPlace, change: linkChange },
  connection: { reasons: /^upstream_/, where: connectionPlace, change: connectionChange },
  exchange_list: {
    reasons: /^(cross_client_not_authorized|operator_gate_denied|agent_attestation_.*|subject_not_user)$/,
    where: (scene) => `policy of the resource ${nameOfResource(scene)}: exchange and runtime`,
    change: (scene) =>
      `service admin resource policy exchange add --slug ${nameOfResource(scene)} --client-id ${callerOf(scene)}`,
  },
  policy: {
    reasons: /^policy_denied$/,
    where: () => 'policies of the identity providers',
    change: ({ asked }) => `service admin policy create --idp-id … --client-ids ${asked.client_id}`,
  },
  access: { reasons: /^access$/, where: accessPlace, change: accessChange },
  scope_groups: { reasons: /^scope_groups$/, where: scopeGroupsPlace, change: scopeGroupsChange },
  consent: {
    reasons: /^(consent_missing|scope_insufficient)$/,
    where: consentPlace,
    change: ({ asked }) => `The user decides on the consent page of /oauth/authorize?client_id=${asked.client_id}.`,
  },
  // It refuses nothing: it decides whether there is an ID token.
  openid: { reasons: /^(?!)/, where: openIdPlace, change: openIdChange },
} as const satisfies Record<string, RuleText>

export type ExplainedRule = keyof typeof EXPLAINED_RULES
