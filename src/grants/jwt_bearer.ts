// The JWT bearer grant (RFC 7523) with ID-JAG assertions: a token for a subject that an identity provider has asserted.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { sentBy } from '../oauth/audit.ts'
import { checkApproved, needsApproval } from '../oauth/clients/approval.ts'
import { JWT_BEARER_GRANT } from '../oauth/clients/assertion_kind.ts'
import { keepDocumentClient } from '../oauth/clients/document_client.ts'
import { type Assertion, consumeAssertion, verifyAssertion } from '../oauth/federation/id_jag.ts'
import { admitSubject, applyPolicies, isNamed } from '../oauth/federation/xaa_policy.ts'
import { provenBy } from '../oauth/openid.ts'
import { machineScope } from '../oauth/tokens/requested_scope.ts'
import { atLeastOne, catalogOf, isSameResource, resolveMint, scopeNames } from '../oauth/tokens/resource.ts'
import type { Client } from '../records/client.ts'
import type { Grant } from './grant.ts'

const invalidTarget = (description: string, reason: Reason) => new OAuthError('invalid_target', description, { reason })

export const jwtBearer = {
  type: JWT_BEARER_GRANT,
  name: 'jwt_bearer',
  clients: 'confidential',
  denied: 'jwt_bearer_denied',
  switch: 'xaa.enabled',
  enabled: (config) => config.xaa.enabled,

  async run(app, { request, form, client, proof }) {
    if (form.assertion === undefined)
      throw new OAuthError('invalid_grant', 'the assertion is missing', { reason: 'missing_assertion' })
    const assertion = await verifyAssertion(app, form.assertion, client)
    if (assertion.jkt !== undefined && assertion.jkt !== proof?.jkt)
      throw new OAuthError('invalid_grant', 'the assertion is bound to another key', { reason: 'assertion_key' })
    const uri = targetOf(app, form.resource, assertion)
    // A refusal before this line leaves the assertion usable for a corrected request. A refusal after it reveals the state of this
    // server, and uses up the assertion.
    await consumeAssertion(app, assertion)
    const { sub, resource, scope, about } = await redemptionOf(app, { uri, scope: form.scope, client }, assertion)
    await keepDocumentClient(app, client, { actor_id: client.client_id, ...sentBy(request) })
    return {
      grant_type: 'jwt_bearer',
      client,
      sub,
      resource,
      scope,
      about,
      identity: provenBy(assertion.proven),
      lifetime: app.config.xaa.token_expiry,
      jkt: proof?.jkt,
    }
  },
} satisfies Grant

/** The resource, scope and subject that an assertion is redeemed for. Throws the refusal. */
export async function redemptionOf(
  app: App,
  { uri, scope: requestedScope, client }: { uri?: string; scope?: string; client: Client },
  assertion: Assertion,
) {
  const resource = uri === undefined ? undefined : await resolveMint(app, uri)
  const wanted = assertedScope(await machineScope(app, requestedScope, resource, client), assertion)
  const needsNone = resource !== undefined && catalogOf(resource).length === 0
  const scope = await applyPolicies(app, assertion, client, resource, needsNone ? [] : atLeastOne(wanted))
  // The policy that names a client is its approval.
  const { idp } = assertion
  if (needsApproval(app.config, client) && !(await isNamed(app, idp, client.client_id)))
    await checkApproved(app, client)
  return { resource, ...(await admitSubject(app, assertion, client, resource, scope)) }
}

/** The resource that request and assertion have in common. Throws invalid_target. */
export function targetOf(app: App, requested: string | undefined, { resources }: Assertion): string | undefined {
  const isAsserted = (uri: string) => resources.some((each) => isSameResource(app, each, uri))
  if (requested !== undefined && resources.length > 0 && !isAsserted(requested))
    throw invalidTarget('the assertion is for another resource', 'assertion_resource')
  if (requested === undefined && resources.length > 1)
    throw invalidTarget('resource is required: the assertion names several', 'ambiguous_resource')
  const uri = requested ?? resources[0]
  if (uri === undefined && app.config.xaa.require_resource)
    throw invalidTarget('resource is required', 'missing_resource')
  return uri
}

/** The names that the assertion contains; all names when it has no scope. The identity provider limits the scopes of its clients. */
const assertedScope = (names: readonly string[], { scope }: Assertion): readonly string[] =>
  scope === undefined ? names : names.filter((name) => scopeNames(scope).includes(name))
