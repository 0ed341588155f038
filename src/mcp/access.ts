// Who sends a request to /mcp: the holder of an API key, or a person by an access token of this service.
import { createGatekeeper } from '../admin/gatekeeper.ts'
import { operatorByToken } from '../admin/people/people.ts'
import type { App } from '../context.ts'
import { beginsAsJws } from '../crypto/jws.ts'
import type { RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { isUserId } from '../oauth/clients/client_metadata.ts'
import { checkToken, type LiveToken } from '../oauth/tokens/access_token.ts'
import { capabilityOfScopes, isAdminUri, opensAdmin, scopesFor } from '../oauth/tokens/admin_resource.ts'
import { checkBound, useProof } from '../oauth/tokens/dpop.ts'
import { scopeNames, stillGranted } from '../oauth/tokens/resource.ts'
import { type Capability, includesCapability } from '../records/api_key.ts'
import type { Tool } from './tools.ts'

/** The caller of a request. */
export interface McpCaller {
  actor_id: string
  /** What the key allows, or both the scope of the token and the groups of the person. */
  capability: Capability
  /** What the key allows, or the groups of the person: more scope would give this. */
  most: Capability
}

/** Where the metadata of a resource is (RFC 9728 §3.1). */
export const METADATA = '/.well-known/oauth-protected-resource'

/** A Bearer challenge (RFC 6750 §3, RFC 9728 §5.1). */
function challenge({ config }: App, parameters: Record<string, string>): Record<string, string> {
  const { url } = config.admin.mcp
  const resource_metadata = new URL(METADATA + new URL(url).pathname.replace(/\/$/, ''), url).href
  const all = Object.entries({ ...parameters, resource_metadata }).map(([name, value]) => `${name}="${value}"`)
  return { 'www-authenticate': `Bearer ${all.join(', ')}` }
}

interface Credentials {
  /** In lower case. */
  scheme: string
  token: string
}
const CREDENTIALS = /^(bearer|dpop) +(\S+) *$/i

/** The access token of a request, and its scheme. An API key may have any form, so that only the header of a JWS makes a token. */
function tokenOf(authorization: string): Credentials | undefined {
  const [, scheme = '', token = ''] = CREDENTIALS.exec(authorization) ?? []
  return beginsAsJws(token) ? { scheme: scheme.toLowerCase(), token } : undefined
}

/**
 * Returns a function that finds the caller of a request. It throws unauthorized for a missing or wrong key, invalid_token for a token that is not
 * valid here, and access_denied for people without a capability, each with the challenge of MCP.
 */
export function createMcpAccess(app: App): (head: RequestHead) => Promise<McpCaller> {
  const gatekeeper = createGatekeeper(app)
  const admit = gatekeeper.guard('viewer')
  const byKey = async (head: RequestHead): Promise<McpCaller> => {
    // The cookie of the admin page opens nothing here: any page could send it.
    if (head.headers.authorization === undefined)
      throw new OAuthError('unauthorized', 'an API key or an access token is needed', { reason: 'missing_key' })
    await admit(head)
    const { actor_id, capability } = gatekeeper.operatorOf(head)
    return { actor_id, capability, most: capability }
  }
  return async (head) => {
    const { authorization = '' } = head.headers
    const sent = app.config.admin.sign_in.enabled ? tokenOf(authorization) : undefined
    try {
      return await (sent ? byToken(app, head, sent) : byKey(head))
    } catch (error) {
      if (!(error instanceof OAuthError) || (error.status !== 401 && error.code !== 'invalid_dpop_proof')) throw error
      const said: Record<string, string> = error.code === 'unauthorized' ? {} : { error: error.code }
      return Promise.reject(
        new OAuthError(error.code, error.message, {
          ...error.more,
          status: 401,
          headers: { ...error.more.headers, ...challenge(app, { ...said, scope: scopesFor('viewer') }) },
        }),
      )
    }
  }
}

async function byToken(app: App, head: RequestHead, { scheme, token }: Credentials): Promise<McpCaller> {
  const live = await liveToken(app, token)
  const { claims, issuance } = live
  const jkt = claims.cnf?.jkt
  if ((jkt === undefined) !== (scheme === 'bearer')) throw invalidToken('scheme')
  if (jkt !== undefined) checkBound(jkt, await useProof(app, head, token, app.config.admin.mcp.url))
  const user = isUserId(claims.sub) ? await app.store.findUser({ id: claims.sub }) : undefined
  const person = user && opensAdmin(issuance.grant_type) ? operatorByToken(app, user, claims.acr) : undefined
  if (!person)
    throw new OAuthError('access_denied', 'the groups of this person at the provider give no capability here', {
      reason: 'no_capability',
    })
  const allowed = capabilityOfScopes(await scopeNow(app, live))
  if (!allowed) throw beyondScope(app, 'viewer')
  const { actor_id, capability: most } = person
  return { actor_id, most, capability: includesCapability(most, allowed) ? allowed : most }
}

const invalidToken = (reason: Reason) =>
  new OAuthError('invalid_token', 'the access token is not valid here', { reason })

async function liveToken(app: App, token: string): Promise<LiveToken> {
  const live = await checkToken(app, token)
  if (typeof live === 'string') throw invalidToken(live)
  if (!isAdminUri(app.config, live.issuance.resource)) throw invalidToken('other_audience')
  return live
}

/** The scopes of the token that the person still consents to, and that the operator still allows the client to have. */
async function scopeNow(app: App, { claims, consent_scope: consented }: LiveToken): Promise<string[]> {
  const client = await app.store.findClient({ client_id: claims.client_id })
  return client ? stillGranted(scopeNames(claims.scope ?? ''), { client, consented }) : []
}

const beyondScope = (app: App, needs: Capability) =>
  new OAuthError('insufficient_scope', 'the scope of the access token does not allow this', {
    reason: 'beyond_scope',
    status: 403,
    headers: challenge(app, { error: 'insufficient_scope', scope: scopesFor(needs) }),
  })

/** Throws insufficient_scope for a call of a tool that the groups of the person allow, and the scope of the token does not: the client then asks for more. */
export function refuseBeyondScope(
  app: App,
  { capability, most }: McpCaller,
  { tools, all, body }: { tools: readonly Tool[]; all: readonly Tool[]; body: Buffer },
): void {
  if (capability === most || body.length === 0) return
  const called = namesIn(body)
  const beyond = all.find(({ name }) => called.includes(name) && !tools.some((each) => each.name === name))
  if (beyond) throw beyondScope(app, beyond.needs)
}

/** The names of the tools that a body calls. It is read as the SDK reads it, without a limit of its depth. A body that is not JSON calls none: the SDK refuses it. */
function namesIn(body: Buffer): unknown[] {
  try {
    const messages = [JSON.parse(body.toString('utf8'))].flat() as ({
      method?: unknown
      params?: { name?: unknown }
    } | null)[]
    return messages.map((each) => (each?.method === 'tools/call' ? each.params?.name : undefined))
  } catch {
    return []
  }
}
