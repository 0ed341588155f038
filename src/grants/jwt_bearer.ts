// The JWT bearer grant (RFC 7523) with ID-JAG assertions: a token for somebody whom an identity provider vouches for.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { type Assertion, consumeAssertion, verifyAssertion } from '../oauth/id_jag.ts'
import { machineScope } from '../oauth/requested_scope.ts'
import { atLeastOne, catalogOf, isSameResource, resolveMint, scopeNames } from '../oauth/resource.ts'
import { applyPolicies, resolveSubject } from '../oauth/xaa_policy.ts'
import type { Client } from '../records/client.ts'
import type { Grant } from './grant.ts'

const target = (description: string, reason: string) => new OAuthError('invalid_target', description, { reason })

export const jwtBearer = {
  type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  name: 'jwt_bearer',
  clients: 'confidential',
  denied: 'jwt_bearer_denied',
  switch: 'xaa.enabled',
  enabled: (config) => config.xaa.enabled,

  async run(app, { form, client, proof }) {
    if (form.assertion === undefined)
      throw new OAuthError('invalid_grant', 'the assertion is missing', { reason: 'missing_assertion' })
    const assertion = await verifyAssertion(app, form.assertion, client)
    if (assertion.jkt !== undefined && assertion.jkt !== proof?.jkt)
      throw new OAuthError('invalid_grant', 'the assertion is bound to another key', { reason: 'assertion_key' })
    const uri = targetOf(app, form.resource, assertion)
    // What is refused above leaves the assertion usable for a corrected request; what is refused below would tell about
    // the state of this server, and costs the assertion.
    await consumeAssertion(app, assertion)
    const { sub, resource, scope } = await redemptionOf(app, { uri, scope: form.scope, client }, assertion)
    return {
      grant_type: 'jwt_bearer',
      client,
      sub,
      resource: resource?.uri,
      scope,
      lifetime: app.config.xaa.token_expiry,
      jkt: proof?.jkt,
      proof,
    }
  },
} satisfies Grant

/** What an assertion is redeemed for at a resource, with the scope that is asked for. Throws what refuses it. */
export async function redemptionOf(
  app: App,
  { uri, scope: asked, client }: { uri?: string; scope?: string; client: Client },
  assertion: Assertion,
) {
  const resource = uri === undefined ? undefined : await resolveMint(app, uri)
  const wanted = assertedScope(await machineScope(app, asked, resource, client), assertion)
  const needsNone = resource !== undefined && catalogOf(resource).length === 0
  const scope = await applyPolicies(app, assertion, client, resource, needsNone ? [] : atLeastOne(wanted))
  return { resource, scope: scope.join(' '), sub: await resolveSubject(app, assertion) }
}

/** The one resource that request and assertion agree on. Throws invalid_target. */
export function targetOf(app: App, requested: string | undefined, { resources }: Assertion): string | undefined {
  const isAsserted = (uri: string) => resources.some((each) => isSameResource(app, each, uri))
  if (requested !== undefined && resources.length > 0 && !isAsserted(requested))
    throw target('the assertion is for another resource', 'assertion_resource')
  if (requested === undefined && resources.length > 1) throw target('one resource must be named', 'ambiguous_resource')
  const uri = requested ?? resources[0]
  if (uri === undefined && app.config.xaa.require_resource) throw target('a resource must be named', 'missing_resource')
  return uri
}

/** The part of a scope that the assertion speaks of: clients ask for what they need, and their identity provider narrows it. */
const assertedScope = (names: readonly string[], { scope }: Assertion): readonly string[] =>
  scope === undefined ? names : names.filter((name) => scopeNames(scope).includes(name))
