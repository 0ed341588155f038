// What the explained grants share: grant and client, user, resource, access and consent.
import type { App } from '../../context.ts'
import { checkEnabled, checkRegistered } from '../../grants/index.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { checkApproved } from '../../oauth/clients/approval.ts'
import { JWT_BEARER_GRANT } from '../../oauth/clients/assertion_kind.ts'
import { isUrlShaped, resolveDocumentClient } from '../../oauth/clients/cimd.ts'
import { isPublic } from '../../oauth/clients/client_metadata.ts'
import { checkPublic } from '../../oauth/clients/token_auth.ts'
import { isNamed } from '../../oauth/federation/xaa_policy.ts'
import { type Identity, identityOf, isSignIn } from '../../oauth/openid.ts'
import { signInOf } from '../../oauth/sign_in/authentication_request.ts'
import { type ClaimsAbout, decideAccess } from '../../oauth/tokens/access.ts'
import { resolveMint, scopeNames } from '../../oauth/tokens/resource.ts'
import { checkAccess, type SubjectAccess } from '../../oauth/tokens/subject_access.ts'
import type { Client } from '../../records/client.ts'
import { USERINFO_CONSENT } from '../../records/consent.ts'
import type { Actor } from '../../records/issuance.ts'
import { EVERYONE, type Resource, type TokenAudience } from '../../records/resource.ts'
import { personOf, type User } from '../../records/user.ts'
import type { ExplainedRule, Scene } from './rules.ts'

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
  reason: Reason,
) => new OAuthError(code, text, { reason })

/** Grant and client. Returns the client that sends the request. */
export async function clientOf(app: App, scene: Scene, ask: Ask): Promise<Client> {
  const { grant, asked } = scene
  await ask(['grant_enabled'], () => checkEnabled(app, grant))
  const client = await ask(['client_active'], async () => {
    const client_id = asked.actor ?? asked.client_id
    scene.client = (await app.store.findClient({ client_id })) ?? (await documentClientOf(app, grant.type, client_id))
    if (!scene.client) throw refuse('invalid_client', 'the client is not known', 'unknown_client')
    if (scene.client.status !== 'active') throw refuse('invalid_client', 'the client is suspended', 'client_suspended')
    const isByPolicy = grant.type === JWT_BEARER_GRANT && (await isNamedAnywhere(app, client_id))
    if (!isByPolicy) await checkApproved(app, scene.client)
    return scene.client
  })
  if (grant.clients === 'confidential')
    await ask(['client_confidential'], () => {
      if (isPublic(client)) checkPublic(app.config, grant.type, client)
    })
  await ask(['grant_registered'], () => checkRegistered(client, grant))
  return client
}

/** The client of a document that is not stored. As for a request with an assertion, it is fetched only if a policy names the client. */
async function documentClientOf(app: App, grant_type: string, client_id: string): Promise<Client | undefined> {
  if (grant_type !== JWT_BEARER_GRANT || !isUrlShaped(client_id)) return undefined
  return (await isNamedAnywhere(app, client_id))
    ? resolveDocumentClient(app, client_id, { address: 'admin' })
    : undefined
}

/** Whether a policy of an enabled identity provider names a client. */
async function isNamedAnywhere(app: App, client_id: string): Promise<boolean> {
  const idps = (await app.store.listIdps()).filter(({ enabled }) => enabled)
  const named = await Promise.all(idps.map((idp) => isNamed(app, idp, client_id)))
  return named.includes(true)
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
    // Users are asked for a second factor where a resource requires one.
    const proven = { amr: ['mfa'] }
    const subject = { sub: user.id, client_id: client.client_id, user_version: user.version, proven }
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
export async function signInFor(
  app: App,
  scene: Scene,
  ask: Ask,
  user: User,
  { scope, has_resource }: { scope: string; has_resource: boolean },
) {
  const now = app.clock.now()
  const session = { id: '', user_id: user.id, created_at: now, expires_at: now, oidc_issuer: user.provider_issuer }
  const granted = scopeNames(scope)
  scene.openid = { enabled: app.config.oauth.openid, granted }
  if (!app.config.oauth.openid || !isSignIn(granted)) return {}
  // There is no session, so that its id would be wrong.
  const { sid: _, ...sign_in } = signInOf(session)
  const subject = { scope, has_resource, sub: user.id, user_version: user.version }
  const { identity, audience } = await ask(['openid'], () => identityOf(app, sign_in, subject))
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
