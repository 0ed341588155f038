// The JWT bearer grant (RFC 7523) with ID-JAG assertions: a token for a subject that an identity provider has asserted.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { sentBy } from '../oauth/audit.ts'
import { checkApproved, needsApproval } from '../oauth/clients/approval.ts'
import { JWT_BEARER_GRANT } from '../oauth/clients/assertion_kind.ts'
import { keepDocumentClient } from '../oauth/clients/document_client.ts'
import { ADMISSION, type Admitted, assertedBy, POLICY } from '../oauth/federation/admission.ts'
import { type Assertion, consumeAssertion, verifyAssertion } from '../oauth/federation/id_jag.ts'
import { isNamed } from '../oauth/federation/xaa_policy.ts'
import { provenBy } from '../oauth/openid.ts'
import { RESOURCE_KNOWN } from '../oauth/tokens/common_rules.ts'
import { machineScope } from '../oauth/tokens/requested_scope.ts'
import { atLeastOne, catalogOf, isSameResource, scopeNames } from '../oauth/tokens/resource.ts'
import { decide, type GrantRule } from '../oauth/tokens/rule.ts'
import type { Client } from '../records/client.ts'
import type { Grant } from './grant.ts'

const invalidTarget = (description: string, reason: Reason) => new OAuthError('invalid_target', description, { reason })

interface Asserted extends Admitted {
  /** The scope of the assertion. */
  asserted?: string | undefined
}

const RULES: readonly GrantRule<Asserted>[] = [
  RESOURCE_KNOWN,
  {
    // The names that the assertion contains; all names when it has no scope. The identity provider limits the scopes of its clients.
    name: 'scope',
    async check(app, facts) {
      const { asked, asserted, resource, client } = facts
      const names = await machineScope(app, asked, resource, client)
      const within = asserted === undefined ? names : names.filter((name) => scopeNames(asserted).includes(name))
      facts.names = resource && catalogOf(resource).length === 0 ? [] : atLeastOne(within)
    },
  },
  POLICY,
  {
    // The policy that names a client is its approval.
    name: 'client_active',
    async check(app, facts) {
      if (!needsApproval(app.config, facts.client)) return
      for (const idp of await assertedBy(app, facts)) if (await isNamed(app, idp, facts.client.client_id)) return
      await checkApproved(app, facts.client)
    },
  },
  ...ADMISSION,
]

export const jwtBearer = {
  type: JWT_BEARER_GRANT,
  name: 'jwt_bearer',
  clients: 'confidential',
  denied: 'jwt_bearer_denied',
  switch: 'xaa.enabled',
  enabled: (config) => config.xaa.enabled,
  rules: RULES,
  lifetime: (config) => config.xaa.token_expiry,

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
    const facts = await decide(app, RULES, assertedFacts(assertion, client, uri, form.scope))
    const { sub, resource, names, about } = facts
    await keepDocumentClient(app, client, { actor_id: client.client_id, ...sentBy(request) })
    return {
      grant_type: 'jwt_bearer',
      client,
      sub,
      resource,
      scope: names.join(' '),
      about,
      identity: provenBy(assertion.proven),
      lifetime: app.config.xaa.token_expiry,
      jkt: proof?.jkt,
    }
  },
} satisfies Grant

/** The facts of a verified assertion. */
export const assertedFacts = (
  assertion: Assertion,
  client: Client,
  uri: string | undefined,
  asked: string | undefined,
): Asserted => ({
  client,
  uri,
  asked,
  names: [],
  federated: assertion,
  asserted: assertion.scope,
  sub: '',
  user_version: undefined,
  proven: assertion.proven,
})

/** The resource that request and assertion have in common. Throws invalid_target. */
export function targetOf(app: App, requested: string | undefined, { resources }: Assertion): string | undefined {
  const isAsserted = (uri: string) => resources.some((each) => isSameResource(app, each, uri))
  if (requested !== undefined && resources.length > 0 && !isAsserted(requested))
    throw invalidTarget('the assertion is for another resource', 'assertion_resource').with({
      sent: { parameter: 'resource', value: requested, allowed: resources },
    })
  if (requested === undefined && resources.length > 1)
    throw invalidTarget('resource is required: the assertion names several', 'ambiguous_resource')
  const uri = requested ?? resources[0]
  if (uri === undefined && app.config.xaa.require_resource)
    throw invalidTarget('resource is required', 'missing_resource')
  return uri
}
