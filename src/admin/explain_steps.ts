// What the explained grants share: grant and client, user, resource, access and consent.
import type { App } from '../context.ts'
import { checkEnabled, checkRegistered } from '../grants/index.ts'
import { OAuthError } from '../lib/error.ts'
import { type ClaimsAbout, decideAccess } from '../oauth/access.ts'
import { signInOf } from '../oauth/authentication_request.ts'
import { isPublic } from '../oauth/client_metadata.ts'
import { type Identity, identityOf, isSignIn } from '../oauth/openid.ts'
import { resolveMint, scopeNames } from '../oauth/resource.ts'
import { checkAccess, type SubjectAccess } from '../oauth/subject_access.ts'
import type { Client } from '../records/client.ts'
import { USERINFO_CONSENT } from '../records/consent.ts'
import type { Actor } from '../records/issuance.ts'
import { personOf } from '../records/person.ts'
import { EVERYONE, type Resource, type TokenAudience } from '../records/resource.ts'
import type { User } from '../records/user.ts'
import type { ExplainedRule, Scene } from './explain_rules.ts'

/** Runs a check, and notes the rules that it evaluates, in this order. */
export type Ask = <T>(rules: readonly ExplainedRule[], check: () => T | Promise<T>) => Promise<T>

/** The token that would be issued. */
export interface WouldIssue {
  client: Client
  sub: string
  /** Absent for a token that is for no resource. */
  resource?: TokenAudience & Pick<Resource, 'backend_kind'>
  scope: string
  lifetime: number
  act?: Actor
  about?: ClaimsAbout
  /** What the tokens say about the sign-in. */
  identity?: Identity
}

/** A grant as explain runs it. */
export interface ExplainedGrant {
  /** Every rule, in the order of evaluation. */
  readonly rules: readonly ExplainedRule[]
  /** Whether the token is for a user. */
  readonly user: boolean
  /** Whether it can issue an ID token. A sign-in needs no resource. */
  readonly signIn: boolean
  decide(app: App, scene: Scene, ask: Ask): Promise<WouldIssue>
}

/** A refusal that has no function of its own. */
export const refuse = (
  code: 'invalid_client' | 'invalid_grant' | 'consent_required' | 'access_denied',
  text: string,
  reason: string,
) => new OAuthError(code, text, { reason })

/** Grant and client. Returns the client that sends the request. */
export async function clientOf(app: App, scene: Scene, ask: Ask): Promise<Client> {
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

/** The user by id or email, who must be active. */
export const userOf = (app: App, scene: Scene, ask: Ask): Promise<User> =>
  ask(['user_active'], async () => {
    const name = scene.asked.user ?? ''
    const user = (await app.store.findUser({ id: name })) ?? (await app.store.findUserByEmail({ email: name }))
    scene.user = user
    if (!user) throw refuse('invalid_grant', 'there is no such user', 'unknown_user')
    if (user.status !== 'active') throw refuse('invalid_grant', 'the user is not active', 'user_inactive')
    return user
  })

/** The resource, which is noted. */
export const resourceOf = (scene: Scene, ask: Ask, find: () => Promise<Resource>): Promise<Resource> =>
  ask(['resource_known'], async () => {
    scene.resource = await find()
    return scene.resource
  })

/** The resource of a grant that needs one. */
export const mintOf = (app: App, scene: Scene, ask: Ask): Promise<Resource> =>
  resourceOf(scene, ask, () => resolveMint(app, scene.asked.resource ?? ''))

/** The resource of a grant that can be a sign-in alone. Undefined when the request names none. */
export const maybeMintOf = (app: App, scene: Scene, ask: Ask): Promise<Resource | undefined> =>
  scene.asked.resource === undefined ? ask(['resource_known'], () => undefined) : mintOf(app, scene, ask)

/** The access of the user. Notes the omitted scopes. */
export const accessFor = (
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
export const leftOut = (resource: Resource, user: User, names: readonly string[]): string[] =>
  names.filter((name) => decideAccess({ ...resource, access: EVERYONE }, personOf(user), [name]).refused_by)

/** The same for a grant that can be a sign-in alone, to which no rule of a resource applies. */
export const maybeAccessFor = async (
  app: App,
  scene: Scene,
  ask: Ask,
  client: Client,
  resource: Resource | undefined,
  user: User,
  names: readonly string[],
): Promise<SubjectAccess> => (resource ? accessFor(app, scene, ask, client, resource, user, names) : { scope: names })

/** What the tokens would say about a sign-in of the user now, which is noted. */
export async function signInFor(app: App, scene: Scene, ask: Ask, user: User, scope: string) {
  const now = app.clock.now()
  const session = { id: '', user_id: user.id, created_at: now, expires_at: now, oidc_issuer: user.provider_issuer }
  const granted = scopeNames(scope)
  scene.openid = { enabled: app.config.oauth.openid, granted }
  if (!app.config.oauth.openid || !isSignIn(granted)) return {}
  const subject = { scope, sub: user.id, user_version: user.version }
  const { identity, audience } = await ask(['openid'], () => identityOf(app, signInOf(session), subject))
  return { identity, audience: audience && { ...audience, backend_kind: 'mint' as const } }
}

/** The consent of the user to the client at a resource, or to a sign-in, which is noted. */
export const consentOf = async (app: App, scene: Scene, user: User, resource: Pick<Resource, 'id'> | undefined) => {
  const { client_id } = scene.asked
  const resource_id = resource?.id ?? USERINFO_CONSENT
  const consent = await app.store.findConsent({ user_id: user.id, client_id, resource_id })
  scene.consented = consent !== undefined
  return consent
}

/** The rules about a client that must be confidential. */
export const CONFIDENTIAL = ['grant_enabled', 'client_active', 'client_confidential', 'grant_registered'] as const
