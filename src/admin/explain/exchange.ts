// The subject token that explain supposes for an exchange, with the links and the connection that its rules would use.
import { checkConnection } from '../../broker/vend.ts'
import type { App } from '../../context.ts'
import { delegatedTo } from '../../oauth/tokens/exchange_policy.ts'
import { actorsBehind } from '../../oauth/tokens/fronting.ts'
import { catalogOf, resolveMint, resolveTarget } from '../../oauth/tokens/resource.ts'
import type { GrantRule } from '../../oauth/tokens/rule.ts'
import type { Resource } from '../../records/resource.ts'
import type { Scene } from './rules.ts'
import { noteConsent } from './steps.ts'

/** A token with every scope of the source or the target, as if the user had just signed in at the client. */
export const SUBJECT_TOKEN: GrantRule<Scene> = {
  name: 'resource_known',
  async check(app, scene) {
    const { request, client } = scene
    const target = await resolveTarget(app, scene.uri ?? '')
    scene.resource = target
    scene.source = request.source === undefined ? undefined : await resolveMint(app, request.source)
    scene.links = await app.store.listFrontingLinks({ target_slug: target.slug })
    await noteConsent(app, scene)
    await noteConnection(app, scene, target)
    scene.subject = await subjectToken(app, scene, scene.source ?? target)
    scene.vend = checkConnection
    scene.actor = ({ fronting, subject }) => {
      if (!fronting && request.actor === undefined) return undefined
      return delegatedTo(app, client, fronting ? actorsBehind(subject, client) : undefined)
    }
  },
}

async function noteConnection(
  { store }: App,
  scene: Scene,
  { backend_kind, broker_provider_slug: name = '' }: Resource,
) {
  if (backend_kind === 'mint') return
  const provider = await store.findProvider({ name })
  const grants = await store.listBrokerGrants({ user_id: scene.sub })
  scene.connection = grants.find((each) => each.broker_provider_id === provider?.id && each.revoked_at === undefined)
}

/** For a mint resource it has an audience. */
async function subjectToken(app: App, { request, sub, user_version }: Scene, resource: Resource) {
  const { client_id } = request
  const is_agent = (await app.store.findClient({ client_id }))?.is_agent === true
  const now = app.clock.now()
  const scope = catalogOf(resource).join(' ')
  const aud = resource.backend_kind === 'mint' && resource.uri !== undefined ? { aud: [resource.uri] } : {}
  const times = { iat: now, exp: now + 1 }
  const claims = { iss: app.config.server.issuer, sub, ...times, jti: '', client_id, scope, amr: ['mfa'], ...aud }
  const issuance = {
    id: '',
    grant_type: 'authorization_code',
    client_id,
    sub,
    scope,
    issued_at: now,
    expires_at: now + 1,
    kid: '',
    is_agent,
    ip: '',
  }
  return { claims, issuance, exchanges: 0, user_version }
}
