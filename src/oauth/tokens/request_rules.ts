// What an application asks a person for, at the authorization endpoint, by a device or by CIBA: a resource, scopes and details. The endpoints
// and explain ask the same rules.
import type { App } from '../../context.ts'
import type { Params } from '../../http/message.ts'
import type { AuthorizationDetail } from '../../records/authorization_details.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import { adminScope } from './admin_resource.ts'
import { REQUESTED_DETAILS, RESOURCE_KNOWN, SIGN_IN_RESOURCE_KNOWN } from './common_rules.ts'
import { authorizedScope, parseScope, requestedUri } from './requested_scope.ts'
import { decide, type GrantFacts, type GrantRule } from './rule.ts'

type Rules = readonly GrantRule<GrantFacts>[]

/** The scopes that the client may ask the person for. */
const SCOPE: GrantRule<GrantFacts> = {
  name: 'scope',
  async check(app, facts) {
    const { client, resource, asked } = facts
    const names = await authorizedScope(app, asked, resource, client)
    facts.names = adminScope(app.config, resource?.uri, client, asked, names)
  },
}

/** The rules of a request that comes in a browser, in which the person may also sign in to the admin listener. */
export const IN_BROWSER: Rules = [SIGN_IN_RESOURCE_KNOWN, SCOPE]
/** The rules of a request that comes from a device or another program, which the person decides on elsewhere. */
export const ELSEWHERE: Rules = [RESOURCE_KNOWN, SCOPE]

/** What a request asks for. */
export interface AskedGrant {
  resource?: Resource | undefined
  scope: readonly string[]
  /** The scope parameter as it was sent: it contains more than `scope` if scopes were omitted. */
  asked_scope: string[]
  /** What it asks for beside the scope (RFC 9396). */
  authorization_details?: AuthorizationDetail[] | undefined
}

/** What the parameters of a request ask for, by these rules. Throws the refusal of the first rule that refuses. */
export async function askedGrant(app: App, params: Params, client: Client, rules: Rules): Promise<AskedGrant> {
  const { scope: asked, authorization_details: asked_details } = params
  const uri = requestedUri(app, params, client)
  // These rules do not ask who the person is.
  const facts: GrantFacts = { client, sub: '', uri, asked, asked_details, names: [] }
  const { resource, names, authorization_details } = await decide(app, [...rules, REQUESTED_DETAILS], facts)
  return { resource, scope: names, asked_scope: parseScope(asked ?? ''), authorization_details }
}

/** What a request asks for, as it is stored until the person decides. A request without scope parameter asked for what it gets. */
export const storedAsked = ({ resource, scope, asked_scope, authorization_details }: AskedGrant) => ({
  scope: scope.join(' '),
  asked_scope: asked_scope.join(' ') || scope.join(' '),
  resource: resource?.uri,
  authorization_details,
})
