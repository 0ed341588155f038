// What explain asks before the rules of a grant: the client, and what stands in for a code, a token or an assertion. Nothing is issued or changed.
import type { App } from '../../context.ts'
import { checkEnabled, checkRegistered } from '../../grants/index.ts'
import { type ErrorCode, OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { checkApproved } from '../../oauth/clients/approval.ts'
import { JWT_BEARER_GRANT } from '../../oauth/clients/assertion_kind.ts'
import { isUrlShaped, resolveDocumentClient } from '../../oauth/clients/cimd.ts'
import { isPublic, newUserId } from '../../oauth/clients/client_metadata.ts'
import { checkPublic } from '../../oauth/clients/token_auth.ts'
import { isNamed } from '../../oauth/federation/xaa_policy.ts'
import { isSignIn } from '../../oauth/openid.ts'
import { signInOf } from '../../oauth/sign_in/authentication_request.ts'
import { requestedDetails } from '../../oauth/tokens/authorization_details.ts'
import { scopeNames } from '../../oauth/tokens/resource.ts'
import type { GrantRule } from '../../oauth/tokens/rule.ts'
import type { Client } from '../../records/client.ts'
import { USERINFO_CONSENT } from '../../records/consent.ts'
import type { User } from '../../records/user.ts'
import type { Scene } from './rules.ts'

const refuse = (code: ErrorCode, text: string, reason: Reason) => new OAuthError(code, text, { reason })

/** The rules of every grant about itself and its client. */
export const CLIENT: readonly GrantRule<Scene>[] = [
  { name: 'grant_enabled', check: (app, { grant }) => checkEnabled(app, grant) },
  {
    name: 'client_active',
    async check(app, scene) {
      const { grant, request } = scene
      const client_id = request.actor ?? request.client_id
      const client = (await app.store.findClient({ client_id })) ?? (await documentClientOf(app, grant.type, client_id))
      if (!client) throw refuse('invalid_client', 'the client is not known', 'unknown_client')
      scene.client = client
      if (client.status !== 'active') throw refuse('invalid_client', 'the client is suspended', 'client_suspended')
      // The grant of an assertion asks the policies.
      if (grant.type !== JWT_BEARER_GRANT) await checkApproved(app, client)
    },
  },
]

/** Before the client is known to be registered for the grant. */
export const CONFIDENTIAL: GrantRule<Scene> = {
  name: 'client_confidential',
  check(app, { grant, client }) {
    if (isPublic(client)) checkPublic(app.config, grant.type, client)
  },
}
export const REGISTERED: GrantRule<Scene> = {
  name: 'grant_registered',
  check: (_, { grant, client }) => checkRegistered(client, grant),
}

/** The client of a document that is not stored. As for a request with an assertion, it is fetched only if a policy names the client. */
async function documentClientOf(app: App, grant_type: string, client_id: string): Promise<Client | undefined> {
  if (grant_type !== JWT_BEARER_GRANT || !isUrlShaped(client_id)) return undefined
  const idps = (await app.store.listIdps()).filter(({ enabled }) => enabled)
  const named = await Promise.all(idps.map((idp) => isNamed(app, idp, client_id)))
  return named.includes(true) ? resolveDocumentClient(app, client_id, { address: 'admin' }) : undefined
}

/** The user by id or email. */
const findUser = async ({ store }: App, { request: { user: name = '' } }: Scene): Promise<User | undefined> =>
  (await store.findUser({ id: name })) ?? (await store.findUserByEmail({ email: name }))

/** The user, who must exist and be active. Users are asked for a second factor where a resource requires one. */
export const USER: GrantRule<Scene> = {
  name: 'user_active',
  async check(app, scene) {
    const user = await findUser(app, scene)
    if (!user) throw refuse('invalid_grant', 'there is no such user', 'unknown_user')
    const { id: sub, version: user_version, status: user_status } = user
    Object.assign(scene, { user, sub, user_version, user_status, proven: { amr: ['mfa'] } })
    if (user_status !== 'active') throw scene.refuse('user_inactive')
  },
}

/** The user of an assertion. A rule of the grant refuses one who is unknown or not active. */
export const ASSERTED_USER: GrantRule<Scene> = {
  name: 'user_active',
  async check(app, scene) {
    const user = await findUser(app, scene)
    Object.assign(scene, {
      user,
      sub: user?.id ?? newUserId(),
      user_version: user?.version,
      proven: { amr: ['mfa'] },
    })
  },
}

/** The details that the request asks for. The user allows all of them. */
export const DETAILS: GrantRule<Scene> = {
  name: 'authorization_details',
  async check(app, scene) {
    const { asked_details, source, resource } = scene
    scene.held_details = await requestedDetails(app, asked_details, source ?? resource)
  },
}

/** The sign-in of the user now, and what was allowed: all of the names. There is no session, so that its id would be wrong. */
function allow(app: App, scene: Scene, scope: string): void {
  const { user } = scene
  const now = app.clock.now()
  const session = { id: '', user_id: scene.sub, created_at: now, expires_at: now, oidc_issuer: user?.provider_issuer }
  const { sid: _, ...sign_in } = signInOf(session)
  scene.granted = { scope }
  scene.names = scopeNames(scope)
  scene.sign_in = app.config.oauth.openid && isSignIn(scene.names) ? sign_in : undefined
}

/** The code of a request that the user allows. Without a consent, the user is asked for one. */
export const CODE: GrantRule<Scene> = {
  name: 'consent',
  async check(app, scene) {
    await noteConsent(app, scene)
    allow(app, scene, (scene.wanted ?? scene.names).join(' '))
    scene.asked = undefined
  },
}

/** A refresh token of the consent. Without a consent there is none. */
export const REFRESH_TOKEN: GrantRule<Scene> = {
  name: 'consent',
  async check(app, scene) {
    const consent = await noteConsent(app, scene)
    if (!consent) throw scene.refuse('consent_revoked')
    scene.consented = consent.scope
    allow(app, scene, consent.scope)
  },
}

/** The consent of the user to the client at the resource, or to a sign-in, which is noted. */
export async function noteConsent({ store }: App, scene: Scene) {
  const { sub: user_id, resource, request } = scene
  const resource_id = resource?.id ?? USERINFO_CONSENT
  const consent = await store.findConsent({ user_id, client_id: request.client_id, resource_id })
  scene.has_consent = consent !== undefined
  return consent
}
