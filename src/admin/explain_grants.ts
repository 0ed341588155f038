// The rules of each grant, in its order. They are evaluated by the functions of the grant, without a code, a token or an assertion, and without a change.
import type { App } from '../context.ts'
import { authorizationCode } from '../grants/authorization_code.ts'
import { clientCredentials } from '../grants/client_credentials.ts'
import { deviceCode } from '../grants/device_code.ts'
import { checkEnabled, checkRegistered } from '../grants/index.ts'
import { jwtBearer } from '../grants/jwt_bearer.ts'
import { refreshToken } from '../grants/refresh_token.ts'
import { tokenExchange } from '../grants/token_exchange.ts'
import { OAuthError } from '../lib/error.ts'
import { type ClaimsAbout, decideAccess } from '../oauth/access.ts'
import { isPublic } from '../oauth/client_metadata.ts'
import { allowBroker, allowMint, delegatedTo } from '../oauth/exchange_policy.ts'
import { authorizedScope, machineScope, refreshedScope } from '../oauth/requested_scope.ts'
import { catalogOf, remainingScope, resolveMint, resolveTarget, scopeNames } from '../oauth/resource.ts'
import { checkAccess } from '../oauth/subject_access.ts'
import { allowedByPolicies } from '../oauth/xaa_policy.ts'
import type { Client } from '../records/client.ts'
import type { Actor } from '../records/issuance.ts'
import { personOf } from '../records/person.ts'
import { EVERYONE, type Resource } from '../records/resource.ts'
import type { User } from '../records/user.ts'
import type { ExplainedRule, Scene } from './explain_rules.ts'

/** Runs a check, and notes the rules that it evaluates, in this order. */
export type Ask = <T>(rules: readonly ExplainedRule[], check: () => T | Promise<T>) => Promise<T>

/** The token that would be issued. */
export interface WouldIssue {
  client: Client
  sub: string
  resource: Resource
  scope: string
  lifetime: number
  act?: Actor
  about?: ClaimsAbout
}

interface ExplainedGrant {
  /** Every rule, in the order of evaluation. */
  readonly rules: readonly ExplainedRule[]
  /** Whether the token is for a user. */
  readonly user: boolean
  decide(app: App, scene: Scene, ask: Ask): Promise<WouldIssue>
}

const refuse = (
  code: 'invalid_client' | 'invalid_grant' | 'consent_required' | 'access_denied',
  text: string,
  reason: string,
) => new OAuthError(code, text, { reason })

/** Grant and client. Returns the client that sends the request. */
async function clientOf(app: App, scene: Scene, ask: Ask): Promise<Client> {
  const { grant, asked } = scene
  await ask(['grant_enabled'], () => checkEnabled(app, grant))
  const client = await ask(['client_active'], async () => {
    scene.client = await app.store.findClient({ client_id: asked.actor ?? asked.client_id })
    if (!scene.client) throw refuse('invalid_client', 'the client is not known', 'unknown_client')
    if (scene.client.status !== 'active') throw refuse('invalid_client', 'the client is suspended', 'client_suspended')
    return scene.client
  })
  if (grant.clients === 'confidential')
    await ask(['client_confidential'], () => {
      if (isPublic(client)) throw refuse('invalid_client', 'the client is public', 'public_client')
    })
  await ask(['grant_registered'], () => checkRegistered(client, grant))
  return client
}

const userOf = (app: App, scene: Scene, ask: Ask): Promise<User> =>
  ask(['user_active'], async () => {
    const name = scene.asked.user ?? ''
    const user = (await app.store.findUser({ id: name })) ?? (await app.store.findUserByEmail({ email: name }))
    scene.user = user
    if (!user) throw refuse('invalid_grant', 'there is no such user', 'unknown_user')
    if (user.status !== 'active') throw refuse('invalid_grant', 'the user is not active', 'user_inactive')
    return user
  })

const resourceOf = (scene: Scene, ask: Ask, find: () => Promise<Resource>): Promise<Resource> =>
  ask(['resource_known'], async () => {
    scene.resource = await find()
    return scene.resource
  })

/** The access of the user. Notes the omitted scopes. */
const accessFor = (
  app: App,
  scene: Scene,
  ask: Ask,
  client: Client,
  resource: Resource,
  user: User,
  names: readonly string[],
) =>
  ask(['access', 'scope_groups'], async () => {
    scene.left_out = leftOut(resource, user, names)
    const subject = { sub: user.id, client_id: client.client_id, user_version: user.version }
    return checkAccess(app, resource, subject, names)
  })

/** The scopes that require other groups. */
const leftOut = (resource: Resource, user: User, names: readonly string[]): string[] =>
  names.filter((name) => decideAccess({ ...resource, access: EVERYONE }, personOf(user), [name]).refused_by)

const consentOf = async (app: App, scene: Scene, user: User, resource: Resource) => {
  const { client_id } = scene.asked
  const consent = await app.store.findConsent({ user_id: user.id, client_id, resource_id: resource.id })
  scene.consented = consent !== undefined
  return consent
}

const CLIENT = ['grant_enabled', 'client_active', 'grant_registered'] as const
const CONFIDENTIAL = ['grant_enabled', 'client_active', 'client_confidential', 'grant_registered'] as const

const code: ExplainedGrant = {
  rules: [...CLIENT, 'resource_known', 'scope', 'user_active', 'access', 'scope_groups', 'consent'],
  user: true,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await resourceOf(scene, ask, () => resolveMint(app, scene.asked.resource))
    const asked = await ask(['scope'], () => authorizedScope(app, scene.asked.scope, resource, client))
    const user = await userOf(app, scene, ask)
    const { scope, about } = await accessFor(app, scene, ask, client, resource, user, asked)
    // Without a consent, the user is asked for one.
    await ask(['consent'], () => consentOf(app, scene, user, resource))
    const lifetime = app.config.dcr.default_token_expiry
    return { client, sub: user.id, resource, scope: scope.join(' '), about, lifetime }
  },
}

const refresh: ExplainedGrant = {
  rules: [...CLIENT, 'user_active', 'resource_known', 'consent', 'access', 'scope_groups', 'scope'],
  user: true,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const user = await userOf(app, scene, ask)
    const resource = await resourceOf(scene, ask, () => resolveMint(app, scene.asked.resource))
    const { scope: granted } = await ask(['consent'], async () => {
      const consent = await consentOf(app, scene, user, resource)
      if (!consent) throw refuse('invalid_grant', 'the user has not signed in at this client', 'consent_missing')
      return consent
    })
    const names = scopeNames(granted)
    const { scope: allowed, about } = await accessFor(app, scene, ask, client, resource, user, names)
    const scope = await ask(['scope'], async () => {
      const wanted = await refreshedScope(app, scene.asked.scope, { scope: granted })
      return remainingScope(wanted, { config: app.config, client, resource, consented: granted, allowed })
    })
    return { client, sub: user.id, resource, scope, about, lifetime: app.config.dcr.default_token_expiry }
  },
}

const machine: ExplainedGrant = {
  rules: [...CONFIDENTIAL, 'resource_known', 'scope'],
  user: false,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await resourceOf(scene, ask, () => resolveMint(app, scene.asked.resource))
    const scope = await ask(['scope'], () => machineScope(app, scene.asked.scope, resource, client))
    const lifetime = app.config.client_credentials.token_expiry
    return { client, sub: client.client_id, resource, scope: scope.join(' '), lifetime }
  },
}

const exchange: ExplainedGrant = {
  rules: [
    ...CONFIDENTIAL,
    'user_active',
    'resource_known',
    'scope',
    'exchange_list',
    'access',
    'scope_groups',
    'consent',
  ],
  user: true,
  async decide(app, scene, ask) {
    const { asked } = scene
    const caller = await clientOf(app, scene, ask)
    const user = await userOf(app, scene, ask)
    const target = await resourceOf(scene, ask, () => resolveTarget(app, asked.resource))
    await consentOf(app, scene, user, target)
    scene.left_out = leftOut(target, user, asked.scope === undefined ? catalogOf(target) : scopeNames(asked.scope))
    const allow = target.backend_kind === 'mint' ? allowMint : allowBroker
    const { scope, about } = await ask(['scope', 'exchange_list', 'access', 'scope_groups', 'consent'], () =>
      allow(app, { caller, subject: subjectToken(app, user, asked.client_id, target), scope: asked.scope }, target),
    )
    const act = asked.actor === undefined ? undefined : delegatedTo(app, caller, undefined)
    const lifetime = app.config.token_exchange.token_expiry
    return { client: caller, sub: user.id, resource: target, scope, about, act, lifetime }
  },
}

/** A subject token that has every scope of the target, as if the user had just signed in at the client. */
function subjectToken(app: App, user: User, client_id: string, target: Resource) {
  const now = app.clock.now()
  const scope = catalogOf(target).join(' ')
  const claims = { iss: app.config.server.issuer, sub: user.id, exp: now + 1, iat: now, jti: '', client_id, scope }
  const issuance = {
    ...{
      id: '',
      grant_type: 'authorization_code',
      client_id,
      sub: user.id,
      scope,
      issued_at: now,
      expires_at: now + 1,
    },
    ...{ kid: '', is_agent: false, ip: '' },
  }
  return { claims, issuance, exchanges: 0, user_version: user.version }
}

const assertion: ExplainedGrant = {
  rules: [...CONFIDENTIAL, 'resource_known', 'scope', 'policy', 'user_active', 'access', 'scope_groups'],
  user: true,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await resourceOf(scene, ask, () => resolveMint(app, scene.asked.resource))
    const names = await ask(['scope'], () => machineScope(app, scene.asked.scope, resource, client))
    const allowed = await ask(['policy'], () => byAnyPolicy(app, client, resource, names))
    const user = await userOf(app, scene, ask)
    const { scope, about } = await accessFor(app, scene, ask, client, resource, user, allowed)
    return { client, sub: user.id, resource, scope: scope.join(' '), about, lifetime: app.config.xaa.token_expiry }
  },
}

/** The scopes that the policies of one of the enabled identity providers allow. Throws access_denied. */
async function byAnyPolicy(app: App, client: Client, resource: Resource, names: readonly string[]): Promise<string[]> {
  for (const idp of await app.store.listIdps()) {
    const allowed = idp.enabled ? await allowedByPolicies(app, idp, client, resource, names) : undefined
    if (allowed) return allowed
  }
  throw refuse('access_denied', 'no policy of an identity provider allows this request', 'policy_denied')
}

/** By grant_type. */
export const EXPLAINED_GRANTS: ReadonlyMap<string, ExplainedGrant> = new Map([
  [authorizationCode.type, code],
  [refreshToken.type, refresh],
  [clientCredentials.type, machine],
  [tokenExchange.type, exchange],
  [jwtBearer.type, assertion],
  [deviceCode.type, code],
])
