// The client credentials grant (RFC 6749 §4.4): a client acts for itself. It needs no database read: everything is in memory.
import { REQUESTED_DETAILS, RESOURCE_KNOWN } from '../oauth/tokens/common_rules.ts'
import { machineScope } from '../oauth/tokens/requested_scope.ts'
import { decide, type GrantFacts, type GrantRule } from '../oauth/tokens/rule.ts'
import type { Grant } from './grant.ts'

const NO_RESOURCE = {
  reason: 'no_resource_named',
  text: 'no resource was named: no resource server will accept this token',
} as const

const RULES: readonly GrantRule<GrantFacts>[] = [
  RESOURCE_KNOWN,
  {
    name: 'scope',
    async check(app, facts) {
      facts.names = await machineScope(app, facts.asked, facts.resource, facts.client)
    },
  },
  REQUESTED_DETAILS,
]

export const clientCredentials = {
  type: 'client_credentials',
  name: 'client_credentials',
  clients: 'confidential',
  isMachine: true,
  isPrepared: true,
  denied: 'client_credentials_denied',
  switch: 'client_credentials.enabled',
  enabled: (config) => config.client_credentials.enabled,
  counters: { issued: 'ext_client_credentials_issued_total', denied: 'ext_client_credentials_denied_total' },

  rules: RULES,
  lifetime: (config) => config.client_credentials.token_expiry,

  async run(app, { request, form, client, proof }) {
    const uri = form.resource ?? client.default_resource
    const asked_details = form.authorization_details
    const facts: GrantFacts = { client, sub: client.client_id, uri, asked: form.scope, asked_details, names: [] }
    const { resource, names, authorization_details } = await decide(app, RULES, facts)
    if (!resource) request.notes.remark = NO_RESOURCE
    return {
      grant_type: 'client_credentials',
      client,
      sub: client.client_id,
      resource,
      scope: names.join(' '),
      authorization_details,
      lifetime: app.config.client_credentials.token_expiry,
      jkt: proof?.jkt,
    }
  },
} satisfies Grant
