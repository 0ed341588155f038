// The admin listener as a resource: people sign in to it with any MCP client. No record describes it, so that no operator and no agent can
// change who gets its tokens.
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Capability } from '../../records/api_key.ts'
import type { Client } from '../../records/client.ts'
import { EVERYONE, type Resource } from '../../records/resource.ts'
import type { Session } from '../../records/session.ts'
import type { User } from '../../records/user.ts'
import type { Store } from '../../store/index.ts'
import { isOpenIdScope } from '../openid.ts'
import { signInOf } from '../sign_in/authentication_request.ts'

/** The scopes of the admin listener, and the capability that each allows at most, from the narrowest on. */
export const ADMIN_SCOPES = [
  { name: 'admin:view', capability: 'viewer', description: 'See the clients, users and settings of this server' },
  {
    name: 'admin:operate',
    capability: 'operator',
    description: 'Suspend, revoke and delete clients, users and tokens',
  },
  { name: 'admin:manage', capability: 'admin', description: 'Change the settings of this server' },
] as const satisfies readonly { name: string; capability: Capability; description: string }[]

const [VIEW] = ADMIN_SCOPES
/** Seconds since the sign-in after which the person signs in again. */
const MAX_AGE = 600
/** The grants whose tokens open the admin listener. */
const GRANTS = ['authorization_code', 'refresh_token']

type Settings = Pick<Config, 'admin'>

/** Whether a URI names the admin listener, where people may use it with tokens. */
export const isAdminUri = ({ admin: { mcp, sign_in } }: Settings, uri: string | undefined): boolean =>
  mcp.enabled && sign_in.enabled && uri === mcp.url

/** Whether tokens of a grant open the admin listener. */
export const opensAdmin = (grant_type: string): boolean => GRANTS.includes(grant_type)

/** Adds the admin listener to the resources that a URI names. */
export function withAdminResource(config: Settings, store: Store): Store {
  const { mcp, sign_in } = config.admin
  if (!mcp.enabled || !sign_in.enabled) return store
  const resource = resourceAt(mcp.url)
  const findResource: Store['findResource'] = (input) =>
    input.uri === mcp.url ? Promise.resolve(resource) : store.findResource(input)
  return { ...store, findResource }
}

const resourceAt = (uri: string): Resource => ({
  id: 'admin-mcp',
  slug: 'admin-mcp',
  uri,
  backend_kind: 'mint',
  display_name: 'Administration of this server',
  scopes: ADMIN_SCOPES.map(({ name, description }) => ({ name, description, upstream: '' })),
  policy: { exchange: { allowed_client_ids: [] }, runtime: { client_ids: [] }, connect: { allowed_return_urls: [] } },
  access: EVERYONE,
  token_claims: [],
  authorization_details_types: [],
  version: 1,
  created_at: 0,
  updated_at: 0,
})

/** Refuses the admin listener to a grant without a sign-in of a person. Throws invalid_target. */
export function refuseAdmin(config: Settings, uri: string | undefined): void {
  if (isAdminUri(config, uri))
    throw new OAuthError(
      'invalid_target',
      'only people get tokens for this resource, by the authorization code grant',
      {
        reason: 'admin_resource',
      },
    )
}

/**
 * The scope that a client may ask people for at the admin listener: at another resource, all of it. What a client registered about itself is
 * no reason to trust it, so that only a client of operators gets more than admin:view.
 */
export function adminScope(
  config: Settings,
  uri: string | undefined,
  { registration_source }: Client,
  asked: string | undefined,
  names: string[],
): string[] {
  if (!isAdminUri(config, uri)) return names
  const mayAll = registration_source === 'admin' && asked !== undefined
  const left = names.filter((name) => mayAll || name === VIEW.name || isOpenIdScope(name))
  if (left.length > 0) return left
  throw new OAuthError('invalid_scope', `this client may have only ${VIEW.name} here`, { reason: 'beyond_admin_view' })
}

/**
 * Whether the person must sign in before a request for the admin listener: the sign-in is older than ten minutes. A provider that does not say
 * when the person signed in was asked for a new sign-in, so that the time of the return counts. `login_at` is the time of the sign-in that this request already asked for.
 * Throws login_required when that one did not help.
 */
export function isAdminSignInDue(
  { config, clock }: Pick<App, 'config' | 'clock'>,
  uri: string | undefined,
  session: Session | undefined,
  login_at: number | undefined,
): boolean {
  if (!session || !isAdminUri(config, uri)) return false
  const { auth_time = session.created_at } = signInOf(session)
  if (auth_time + MAX_AGE >= clock.now()) return false
  if (login_at !== undefined && session.created_at >= login_at)
    throw new OAuthError('login_required', 'the provider did not ask the user to sign in again')
  return true
}

/** The seconds since the sign-in that a request for the admin listener allows. */
export const adminMaxAge = (max_age = MAX_AGE): number => Math.min(max_age, MAX_AGE)

/** The highest capability that the scopes of a token allow. */
export const capabilityOfScopes = (names: readonly string[]): Capability | undefined =>
  ADMIN_SCOPES.findLast(({ name }) => names.includes(name))?.capability

/** The scopes that a capability takes, with the narrower ones. */
export const scopesFor = (capability: Capability): string =>
  ADMIN_SCOPES.slice(0, ADMIN_SCOPES.findIndex((each) => each.capability === capability) + 1)
    .map(({ name }) => name)
    .join(' ')

/** Whether a user is a local admin who may sign in with a passkey (`admin.sign_in.local`). */
export const isLocalAdmin = ({ config: { admin } }: Pick<App, 'config'>, { provider, role, status }: User): boolean =>
  admin.sign_in.enabled && admin.sign_in.local && provider === 'local' && role === 'admin' && status === 'active'
