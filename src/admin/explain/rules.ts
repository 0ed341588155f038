// The texts of the rules that decide on a token: where each is set, and how to change it. A rule without a text does not compile.
import type { Grant } from '../../grants/grant.ts'
import type { Held } from '../../grants/held.ts'
import type { VendedExchange } from '../../grants/token_exchange.ts'
import { isPublic } from '../../oauth/clients/client_metadata.ts'
import type { Admitted } from '../../oauth/federation/admission.ts'
import { isOpenIdScope, isSignIn } from '../../oauth/openid.ts'
import { admittedBy, decideAccess } from '../../oauth/tokens/access.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { RuleName } from '../../oauth/tokens/rule_name.ts'
import type { BrokerGrant } from '../../records/broker_grant.ts'
import type { FrontingLink } from '../../records/fronting_link.ts'
import { EVERYONE, type Resource } from '../../records/resource.ts'
import { personOf, type User } from '../../records/user.ts'

/** The request to explain. */
export interface ExplainedRequest {
  grant: string
  client_id: string
  user?: string
  /** Absent for a request that only signs the user in. */
  resource?: string
  scope?: string
  authorization_details?: Record<string, unknown>[] | undefined
  actor?: string
  source?: string
}

/** What the rules have found so far. The texts of the rules name it. */
export interface Scene extends Held, VendedExchange, Admitted {
  readonly request: ExplainedRequest
  readonly grant: Grant
  /** What the rule that refused the request says. */
  fault?: string
  user?: User | undefined
  /** Whether oauth.openid is on. */
  has_openid: boolean
  /** Whether the user has consented to the client at the resource. */
  has_consent?: boolean
  /** The resource that the exchanged token is for. */
  source?: Resource | undefined
  /** The fronting links that lead to the resource. */
  links?: readonly FrontingLink[]
  /** The connection of the user to the provider of a broker resource. */
  connection?: BrokerGrant | undefined
}

interface RuleText {
  /** A rule that was not reached has looked nothing up: what is not known of it is left out. */
  where(scene: Scene, isReached: boolean): string
  change(scene: Scene): string
}

const nameOfResource = ({ resource, request }: Scene): string => resource?.slug ?? request.resource ?? 'none'
const NO_RESOURCE = 'not asked: the request names no resource'
const nameOfUser = ({ user, request }: Scene): string => user?.email ?? user?.id ?? request.user ?? 'the subject'
const callerOf = ({ request }: Scene): string => request.actor ?? request.client_id
const groupsCommand = ({ user, request }: Scene): string =>
  `service admin user update --id ${user?.id ?? request.user} --groups …`

/** The part of `access` that admits the user, or that would have to. */
function accessPlace(scene: Scene): string {
  const { resource, user, request } = scene
  if (request.resource === undefined) return NO_RESOURCE
  const by = resource && admittedBy(resource.access, user && personOf(user))
  const place = `access of the resource ${nameOfResource(scene)}`
  if (!resource) return place
  if (by === 'everyone') return `${place}: everyone`
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

/** The scopes that require other groups, apart from who may use the resource. */
function leftOut({ resource, user, names: left, wanted: names = left }: Scene): string[] {
  if (!resource || !user) return []
  return names.filter((name) => decideAccess({ ...resource, access: EVERYONE }, personOf(user), [name]).refused_by)
}

function scopeGroupsPlace(scene: Scene): string {
  if (scene.request.resource === undefined) return NO_RESOURCE
  const left_out = leftOut(scene)
  const place = `groups of the scopes of the resource ${nameOfResource(scene)}`
  return left_out.length > 0 ? `${place}: ${nameOfUser(scene)} may not have ${left_out.join(' ')}` : place
}

function scopeGroupsChange(scene: Scene): string {
  const rules = (scene.resource?.scopes ?? [])
    .filter(({ name }) => leftOut(scene).includes(name))
    .map(({ name, groups = [] }) => `${name} is for ${groups.join(', ')}`)
  const about = rules.length > 0 ? `${rules.join('; ')}. ` : ''
  return `${about}Change the groups of the user: ${groupsCommand(scene)}, or the scopes: service admin resource update --slug ${nameOfResource(scene)} --scopes …`
}

const linkOf = ({ source, links = [] }: Scene): FrontingLink | undefined =>
  links.find(({ source_slug }) => source_slug === source?.slug)

/** The fronting link that the exchange would use. */
function linkPlace(scene: Scene, isReached: boolean): string {
  const { source, links = [] } = scene
  const link = linkOf(scene)
  const linked = links.map(({ source_slug }) => source_slug)
  const target = nameOfResource(scene)
  if (link) return `fronting link from ${link.source_slug} to ${target}`
  if (!isReached) return `fronting links to ${target}`
  if (source) return `no fronting link leads from ${source.slug} to ${target}`
  return linked.length === 0
    ? `no fronting link leads to ${target}`
    : `fronting links lead to ${target} from ${linked.join(', ')}; without a source none of them is checked`
}

function linkChange(scene: Scene): string {
  const { source, links = [] } = scene
  const link = linkOf(scene)
  const linked = links.map(({ source_slug }) => source_slug)
  const target = nameOfResource(scene)
  if (link)
    return `Change the link: service admin fronting update --source ${link.source_slug} --target ${target} --scope-map …, or the lists of clients: service admin resource policy …`
  const from = source?.slug ?? '…'
  const known =
    linked.length > 0 && !source ? `Explain it with source ${linked.join(' or ')}. Or create a link` : 'Create a link'
  return `${known}: service admin fronting create --source ${from} --target ${target} --scope-map …`
}

function connectionPlace(scene: Scene, isReached: boolean): string {
  const { resource, connection } = scene
  if (resource?.backend_kind === 'mint') return `not needed: ${nameOfResource(scene)} is not a broker resource`
  const place = `connection of ${nameOfUser(scene)} to the provider ${resource?.broker_provider_slug ?? 'of the resource'}`
  if (!connection) return isReached ? `${place}: none` : place
  return `${place}: ${connection.scopes_granted ? `has the scopes ${connection.scopes_granted}` : 'connected'}`
}

function connectionChange(scene: Scene): string {
  const { resource } = scene
  if (resource?.backend_kind === 'mint') return 'Nothing.'
  return `The user connects at /connect/${resource?.broker_provider_slug}?resource=${nameOfResource(scene)}&return_url=…`
}

/** The consent. A fronting link, or the list of a broker resource, replaces it. */
const consentPlace = (scene: Scene): string =>
  linkOf(scene)
    ? 'not asked: the fronting link replaces the consent'
    : `consent of ${nameOfUser(scene)} to the client ${scene.request.client_id} ${scene.request.resource === undefined ? 'for the sign-in' : `at the resource ${nameOfResource(scene)}`}${consentState(scene)}`
const consentState = ({ has_consent }: Scene): string =>
  has_consent === undefined ? '' : has_consent ? ': given' : ': not given yet'

/** Whether an ID token would be issued, and why not. */
function openIdPlace({ has_openid, scope }: Scene): string {
  if (scope === '') return 'configuration key oauth.openid'
  if (!has_openid) return 'oauth.openid is false: OpenID scopes are left out, and no ID token is issued'
  const granted = scopeNames(scope).filter(isOpenIdScope)
  const names = granted.length > 0 ? `OpenID scopes granted: ${granted.join(' ')}` : 'no OpenID scope is granted'
  return `oauth.openid is true; ${names}; ${isSignIn(granted) ? 'an' : 'no'} ID token is issued`
}

function openIdChange(scene: Scene): string {
  if (!scene.has_openid) return 'Set oauth.openid: true.'
  if (isSignIn(scopeNames(scene.scope))) return 'Nothing.'
  return `The client requests the scope openid. A scope that an operator set must contain it: service admin client update --id ${callerOf(scene)} --scopes …`
}

/** The status of a record that a rule looks up. */
const stateOf = (record: { status: string } | undefined, isReached: boolean, absent: string): string =>
  record ? `: ${record.status}` : isReached ? `: ${absent}` : ''

/** By name. */
export const EXPLAINED_RULES: Readonly<Record<RuleName, RuleText>> = {
  grant_enabled: {
    where: ({ grant }) => (grant.switch ? `configuration key ${grant.switch}` : 'always enabled'),
    change: ({ grant }) => (grant.switch ? `Set ${grant.switch}: true.` : 'It cannot be disabled.'),
  },
  client_active: {
    where: (scene, isReached) => `client ${callerOf(scene)}${stateOf(scene.client, isReached, 'not registered')}`,
    change: (scene) =>
      scene.client
        ? `service admin client reactivate --id ${callerOf(scene)}; with clients.approval: service admin client-request list`
        : 'Register the client: service admin client create …',
  },
  client_confidential: {
    where: ({ client, request }) =>
      `client ${request.client_id}: ${client && isPublic(client) ? 'public' : 'authenticates itself'}`,
    change: ({ client, grant }) =>
      client?.registration_source === 'cimd' && grant.name === 'jwt_bearer'
        ? 'Set xaa.allow_public_clients: true, or have the client publish keys (private_key_jwt).'
        : 'Register a client with another token_endpoint_auth_method than none.',
  },
  grant_registered: {
    where: (scene) => `client ${callerOf(scene)}: grant_types`,
    change: (scene) => `service admin client update --id ${callerOf(scene)} --grant-types …`,
  },
  user_active: {
    where: (scene, isReached) => `user ${nameOfUser(scene)}${stateOf(scene.user, isReached, 'not known here')}`,
    change: ({ user }) =>
      user
        ? `PATCH /admin/users/${user.id}/enable, or on the admin page`
        : 'Create the user, or map the subject to one.',
  },
  resource_known: {
    where: (scene) =>
      scene.request.resource === undefined
        ? 'no resource: a token of a sign-in is for userinfo only'
        : `resource ${nameOfResource(scene)}`,
    change: () => 'Register the resource under exactly this URI: service admin resource create …',
  },
  scope: {
    where: (scene) =>
      `${scene.request.resource === undefined ? 'OpenID scopes' : `scopes of the resource ${nameOfResource(scene)}`}, and scope of the client ${callerOf(scene)}`,
    change: (scene) =>
      `service admin resource update --slug ${nameOfResource(scene)} --scopes …, or service admin client update --id ${callerOf(scene)} --scopes …`,
  },
  authorization_details: {
    where: (scene) =>
      `authorization_details_types of the resource ${nameOfResource(scene)}${scene.fault === undefined ? '' : `: ${scene.fault}`}`,
    change: (scene) => `service admin resource update --slug ${nameOfResource(scene)} --details-type …`,
  },
  fronting_link: { where: linkPlace, change: linkChange },
  actor_chain: {
    where: () => 'configuration key token_exchange.max_chain_depth',
    change: () => 'Raise token_exchange.max_chain_depth, or exchange an earlier token of the chain.',
  },
  connection: { where: connectionPlace, change: connectionChange },
  exchange_list: {
    where: (scene) => `policy of the resource ${nameOfResource(scene)}: exchange and runtime`,
    change: (scene) =>
      `service admin resource policy exchange add --slug ${nameOfResource(scene)} --client-id ${callerOf(scene)}`,
  },
  policy: {
    where: () => 'policies of the identity providers',
    change: ({ request }) => `service admin policy create --idp-id … --client-ids ${request.client_id}`,
  },
  access: { where: accessPlace, change: accessChange },
  scope_groups: { where: scopeGroupsPlace, change: scopeGroupsChange },
  consent: {
    where: consentPlace,
    change: ({ request }) => `The user decides on the consent page of /oauth/authorize?client_id=${request.client_id}.`,
  },
  // It refuses nothing: it decides whether there is an ID token.
  openid: { where: openIdPlace, change: openIdChange },
}
