// The rules of each grant, in its order. They are evaluated by the functions of the grant, without a code, a token or an assertion, and without a change.
import type { App } from '../../context.ts'
import { authorizationCode } from '../../grants/authorization_code.ts'
import { clientCredentials } from '../../grants/client_credentials.ts'
import { deviceCode } from '../../grants/device_code.ts'
import { jwtBearer } from '../../grants/jwt_bearer.ts'
import { refreshToken } from '../../grants/refresh_token.ts'
import { tokenExchange } from '../../grants/token_exchange.ts'
import { allowedByPolicies } from '../../oauth/federation/xaa_policy.ts'
import { authorizedScope, machineScope, refreshedScope } from '../../oauth/tokens/requested_scope.ts'
import { remainingScope, scopeNames } from '../../oauth/tokens/resource.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { explainedExchange } from './exchange.ts'
import {
  accessFor,
  CONFIDENTIAL,
  clientOf,
  consentOf,
  type ExplainedGrant,
  maybeAccessFor,
  maybeMintOf,
  mintOf,
  refuse,
  signInFor,
  userOf,
} from './steps.ts'

const CLIENT = ['grant_enabled', 'client_active', 'grant_registered'] as const

const code: ExplainedGrant = {
  rules: [...CLIENT, 'resource_known', 'scope', 'user_active', 'access', 'scope_groups', 'consent', 'openid'],
  user: true,
  signIn: true,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await maybeMintOf(app, scene, ask)
    const asked = await ask(['scope'], () => authorizedScope(app, scene.asked.scope, resource, client))
    const user = await userOf(app, scene, ask)
    const { scope: names, about } = await maybeAccessFor(app, scene, ask, client, resource, user, asked)
    // Without a consent, the user is asked for one.
    await ask(['consent'], () => consentOf(app, scene, user, resource))
    const scope = names.join(' ')
    const { identity, audience } = await signInFor(app, scene, ask, user, {
      scope,
      has_resource: resource !== undefined,
    })
    const lifetime = app.config.dcr.default_token_expiry
    return { client, sub: user.id, resource: resource ?? audience, scope, about, identity, lifetime }
  },
}

const refresh: ExplainedGrant = {
  rules: [...CLIENT, 'user_active', 'resource_known', 'consent', 'access', 'scope_groups', 'scope', 'openid'],
  user: true,
  signIn: true,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const user = await userOf(app, scene, ask)
    const resource = await maybeMintOf(app, scene, ask)
    const { scope: granted } = await ask(['consent'], async () => {
      const consent = await consentOf(app, scene, user, resource)
      if (!consent) throw refuse('invalid_grant', 'the user has not signed in at this client', 'consent_missing')
      return consent
    })
    const names = scopeNames(granted)
    const { scope: allowed, about } = await maybeAccessFor(app, scene, ask, client, resource, user, names)
    const scope = await ask(['scope'], async () => {
      const wanted = await refreshedScope(app, scene.asked.scope, { scope: granted })
      return remainingScope(wanted, { config: app.config, client, resource, consented: granted, allowed })
    })
    const { identity, audience } = await signInFor(app, scene, ask, user, {
      scope,
      has_resource: resource !== undefined,
    })
    const lifetime = app.config.dcr.default_token_expiry
    return { client, sub: user.id, resource: resource ?? audience, scope, about, identity, lifetime }
  },
}

const machine: ExplainedGrant = {
  rules: [...CONFIDENTIAL, 'resource_known', 'scope'],
  user: false,
  signIn: false,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await mintOf(app, scene, ask)
    const scope = await ask(['scope'], () => machineScope(app, scene.asked.scope, resource, client))
    const lifetime = app.config.client_credentials.token_expiry
    return { client, sub: client.client_id, resource, scope: scope.join(' '), lifetime }
  },
}

const assertion: ExplainedGrant = {
  rules: [...CONFIDENTIAL, 'resource_known', 'scope', 'policy', 'user_active', 'access', 'scope_groups'],
  user: true,
  signIn: false,
  async decide(app, scene, ask) {
    const client = await clientOf(app, scene, ask)
    const resource = await mintOf(app, scene, ask)
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
  [tokenExchange.type, explainedExchange],
  [jwtBearer.type, assertion],
  [deviceCode.type, code],
])
