// Authorization server metadata (RFC 8414), readable as OpenID discovery, and protected resource metadata (RFC 9728).
import { issuerOf } from '../config/issuer.ts'
import type { Config } from '../config/schema.ts'
import { CLIENT_ALGS } from '../crypto/jws.ts'
import { isHttpUrl } from '../lib/url.ts'
import { AUTH_METHODS, type AuthMethod, CONFIDENTIAL_METHODS } from '../records/client.ts'
import { DELIVERY_MODES, ID_TOKEN_ALGS } from '../records/rare_members.ts'
import type { Resource } from '../records/resource.ts'
import { ID_JAG_PROFILE } from './federation/id_jag.ts'
import { CLAIMS_SUPPORTED, OPENID_SCOPES, PROMPTS } from './openid.ts'
import { RESPONSE_MODES } from './sign_in/authorization.ts'
import { reachableClasses } from './sign_in/second_factor.ts'
import { detailsTypesOf } from './tokens/authorization_details.ts'
import { DPOP_ALGS } from './tokens/dpop.ts'
import { catalogOf } from './tokens/resource.ts'

/** Paths of the public listener that the metadata documents name. */
export const PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  introspect: '/oauth/introspect',
  revoke: '/oauth/revoke',
  register: '/oauth/register',
  deviceAuthorization: '/oauth/device_authorization',
  par: '/oauth/par',
  bcAuthorize: '/oauth/bc-authorize',
  device: '/device',
  userinfo: '/oauth/userinfo',
  endSession: '/oauth/logout',
  jwks: '/.well-known/jwks.json',
  connect: '/connect',
  connections: '/connections',
  scim: '/scim/v2',
  globalRevocation: '/oauth/global-token-revocation',
} as const

/** What the server offers, beside its configuration. */
interface Offered {
  grant_types: readonly string[]
  /** The algorithms of the signing keys. A new `signing.algorithm` is used from the next rotation on. */
  signing_algs: readonly string[]
  /** The languages of its pages. */
  ui_locales: readonly string[]
}

/** The metadata document, without the members of features that are disabled. */
export function serverMetadata(
  config: Config,
  offered: Offered,
  resources: readonly Resource[],
): Record<string, unknown> {
  const { issuer } = config.server
  const scopes = [...new Set([...(config.oauth.openid ? OPENID_SCOPES : []), ...resources.flatMap(catalogOf)])]
  return {
    issuer: issuerOf(config),
    authorization_endpoint: issuer + PATHS.authorize,
    token_endpoint: issuer + PATHS.token,
    registration_endpoint: issuer + PATHS.register,
    revocation_endpoint: issuer + PATHS.revoke,
    introspection_endpoint: issuer + PATHS.introspect,
    pushed_authorization_request_endpoint: issuer + PATHS.par,
    require_pushed_authorization_requests: config.oauth.require_pushed_requests,
    ...(config.device.enabled ? { device_authorization_endpoint: issuer + PATHS.deviceAuthorization } : {}),
    ...(config.ciba.enabled ? backchannel(issuer) : {}),
    jwks_uri: issuer + PATHS.jwks,
    response_types_supported: ['code'],
    response_modes_supported: RESPONSE_MODES,
    grant_types_supported: offered.grant_types,
    ...authentication('token', AUTH_METHODS),
    ...authentication('introspection', CONFIDENTIAL_METHODS),
    ...authentication('revocation', AUTH_METHODS),
    code_challenge_methods_supported: ['S256'],
    ...(scopes.length > 0 ? { scopes_supported: scopes } : {}),
    ...detailsTypes(resources),
    resource_indicators_supported: true,
    ...(config.cimd.enabled ? { client_id_metadata_document_supported: true } : {}),
    authorization_response_iss_parameter_supported: true,
    // OpenID Connect Discovery 1.0 §3 requires both. Spring, go-oidc, Nimbus and openidconnect-rs refuse a document without them, or assume RS256.
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: config.oauth.openid
      ? ID_TOKEN_ALGS
      : [...new Set([config.signing.algorithm, ...offered.signing_algs])],
    ...(config.oauth.openid ? openIdMetadata(config, offered) : {}),
    ...(config.dpop.enabled ? { dpop_signing_alg_values_supported: DPOP_ALGS } : {}),
    ...(config.scim.enabled ? { global_token_revocation_endpoint: issuer + PATHS.globalRevocation } : {}),
    authplane_agent_identity_supported: true,
    // identity_assertion_supported is deprecated; version 0.3.0 removes it.
    ...(config.xaa.enabled
      ? { authorization_grant_profiles_supported: [ID_JAG_PROFILE], identity_assertion_supported: true }
      : {}),
  }
}

/** What an OpenID provider offers (OpenID Connect Discovery 1.0 §3, RP-Initiated Logout 1.0 §2.1). */
const openIdMetadata = (config: Config, { ui_locales }: Offered) => ({
  userinfo_endpoint: config.server.issuer + PATHS.userinfo,
  end_session_endpoint: config.server.issuer + PATHS.endSession,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  acr_values_supported: reachableClasses(config),
  claims_supported: CLAIMS_SUPPORTED,
  ui_locales_supported: ui_locales,
  prompt_values_supported: PROMPTS,
  claims_parameter_supported: false,
  request_parameter_supported: false,
  // Without it clients assume that it is supported.
  request_uri_parameter_supported: false,
})

/** The endpoint of CIBA, and how clients learn of a decision (CIBA Core §4). */
const backchannel = (issuer: string) => ({
  backchannel_authentication_endpoint: issuer + PATHS.bcAuthorize,
  backchannel_token_delivery_modes_supported: DELIVERY_MODES,
  backchannel_user_code_parameter_supported: false,
})

/** How clients authenticate at an endpoint, and the algorithms of their assertions (RFC 8414 §2). */
const authentication = (endpoint: string, methods: readonly AuthMethod[]) => ({
  [`${endpoint}_endpoint_auth_methods_supported`]: methods,
  [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: CLIENT_ALGS,
})

/** The types of authorization details that resources declare (RFC 9396 §10). */
function detailsTypes(resources: readonly Resource[]): { authorization_details_types_supported?: string[] } {
  const types = new Set(resources.flatMap((each) => detailsTypesOf(each).map(({ type }) => type)))
  return types.size > 0 ? { authorization_details_types_supported: [...types] } : {}
}

/** The metadata of a resource that has a URI. */
export function resourceMetadata(config: Config, resource: Resource): Record<string, unknown> {
  const scopes = catalogOf(resource)
  return {
    resource: resource.uri,
    authorization_servers: [issuerOf(config)],
    ...(scopes.length > 0 ? { scopes_supported: scopes } : {}),
    ...detailsTypes([resource]),
    bearer_methods_supported: ['header'],
    ...(resource.display_name ? { resource_name: resource.display_name } : {}),
  }
}

/**
 * The http(s) resource that a well-known path names: by the path of its URI (RFC 9728 §3.1), else by its slug. Without a `ref` it
 * is the resource whose URI has no path, else the only resource.
 */
export function findDescribed(resources: readonly Resource[], ref: string | undefined): Resource | undefined {
  const described = resources.filter(({ uri }) => uri !== undefined && isHttpUrl(uri))
  if (ref === undefined)
    return described.find((each) => pathOf(each) === '/') ?? (described.length === 1 ? described[0] : undefined)
  return described.find((each) => pathOf(each) === `/${ref}`) ?? described.find((each) => each.slug === ref)
}

const pathOf = (resource: Resource): string => {
  const { pathname } = new URL(resource.uri as string)
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}
