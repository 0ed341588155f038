// The exchange as explain runs it: with the fronting link of the resource that the exchanged token is for, and the connection to the provider of
// a broker resource.
import { checkConnection } from '../../broker/vend.ts'
import type { App } from '../../context.ts'
import { type Allowed, allowBroker, allowMint, delegatedTo, type Exchange } from '../../oauth/tokens/exchange_policy.ts'
import { actorsBehind, allowFronted, checkLinked, findFronting } from '../../oauth/tokens/fronting.ts'
import { catalogOf, resolveMint, resolveTarget, scopeNames } from '../../oauth/tokens/resource.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import type { User } from '../../records/user.ts'
import type { Scene } from './rules.ts'
import {
  type Ask,
  CONFIDENTIAL,
  clientOf,
  consentOf,
  type ExplainedGrant,
  leftOut,
  resourceOf,
  userOf,
} from './steps.ts'

export const explainedExchange: ExplainedGrant = {
  rules: [
    ...CONFIDENTIAL,
    'user_active',
    'resource_known',
    'fronting_link',
    'scope',
    'exchange_list',
    'access',
    'scope_groups',
    'consent',
    'connection',
  ],
  user: true,
  signIn: false,
  async decide(app, scene, ask) {
    const { asked } = scene
    const caller = await clientOf(app, scene, ask)
    const user = await userOf(app, scene, ask)
    const target = await resourceOf(scene, ask, () => resolveTarget(app, asked.resource ?? ''))
    const { source: name } = asked
    const source = name === undefined ? undefined : await ask(['resource_known'], () => resolveMint(app, name))
    await consentOf(app, scene, user, target)
    await noteLinks(app, scene, source, target)
    scene.left_out = leftOut(target, user, asked.scope === undefined ? catalogOf(target) : scopeNames(asked.scope))
    const issuedTo = await app.store.findClient({ client_id: asked.client_id })
    const subject = subjectToken(
      app,
      user,
      { client_id: asked.client_id, is_agent: issuedTo?.is_agent === true },
      source ?? target,
    )
    const exchange = { caller, subject, scope: asked.scope }
    const { link, scope, about } = await allowedBy(app, ask, exchange, target)
    await checkVend(app, scene, ask, user, target, scopeNames(scope))
    const previous = link ? actorsBehind(subject, caller) : undefined
    const act = link || asked.actor !== undefined ? delegatedTo(app, caller, previous) : undefined
    const lifetime = app.config.token_exchange.token_expiry
    return { client: caller, sub: user.id, resource: target, scope, about, act, lifetime }
  },
}

/** The link that the exchange would use, and the resources whose links lead to the target. */
async function noteLinks({ store }: App, scene: Scene, source: Resource | undefined, target: Resource): Promise<void> {
  const links = await store.listFrontingLinks({ target_slug: target.slug })
  scene.linked = links.map(({ source_slug }) => source_slug)
  scene.source = source
  scene.link = links.find(({ source_slug }) => source_slug === source?.slug)
}

/** Asks the rules of the grant. Throws what they throw. */
async function allowedBy(app: App, ask: Ask, exchange: Exchange, target: Resource): Promise<Allowed> {
  const fronting = await ask(['fronting_link'], async () =>
    checkLinked(await findFronting(app, exchange, target), target),
  )
  if (fronting)
    return ask(['fronting_link', 'scope', 'exchange_list', 'access', 'scope_groups', 'consent'], () =>
      allowFronted(app, exchange, fronting, target),
    )
  const allow = target.backend_kind === 'mint' ? allowMint : allowBroker
  return ask(['scope', 'exchange_list', 'access', 'scope_groups', 'consent'], () => allow(app, exchange, target))
}

/** The connection of the user to the provider of a broker resource. */
async function checkVend(
  app: App,
  scene: Scene,
  ask: Ask,
  user: User,
  resource: Resource,
  scope: readonly string[],
): Promise<void> {
  await ask(['connection'], async () => {
    if (resource.backend_kind === 'mint') return
    const grants = await app.store.listBrokerGrants({ user_id: user.id })
    const provider = await app.store.findProvider({ name: resource.broker_provider_slug ?? '' })
    scene.connection = grants.find(
      (grant) => grant.broker_provider_id === provider?.id && grant.revoked_at === undefined,
    )
    await checkConnection(app, { user_id: user.id, resource, scope })
  })
}

/** A subject token with every scope of a resource, as if the user had just signed in at a client. For a mint resource it has an audience. */
function subjectToken(
  app: App,
  user: User,
  { client_id, is_agent }: Pick<Client, 'client_id' | 'is_agent'>,
  resource: Resource,
) {
  const now = app.clock.now()
  const scope = catalogOf(resource).join(' ')
  const aud = resource.backend_kind === 'mint' && resource.uri !== undefined ? { aud: [resource.uri] } : {}
  const times = { iat: now, exp: now + 1 }
  const claims = { iss: app.config.server.issuer, sub: user.id, ...times, jti: '', client_id, scope, ...aud }
  const issuance = {
    ...{ id: '', grant_type: 'authorization_code', client_id, sub: user.id, scope },
    ...{ issued_at: now, expires_at: now + 1, kid: '', is_agent, ip: '' },
  }
  return { claims, issuance, exchanges: 0, user_version: user.version }
}
