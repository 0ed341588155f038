// The client credentials grant (RFC 6749 §4.4): a machine acts for itself. Needs no read: everything is in memory.
import { catalogOf, checkDeclared, checkWithin, parseScope, resolveMint, scopeNames } from '../oauth/resource.ts'
import type { Grant } from './grant.ts'

export const clientCredentials = {
  type: 'client_credentials',
  name: 'client_credentials',
  clients: 'confidential',
  denied: 'client_credentials_denied',
  switch: 'client_credentials.enabled',
  enabled: (config) => config.client_credentials.enabled,
  counters: { issued: 'ext_client_credentials_issued_total', denied: 'ext_client_credentials_denied_total' },

  async run(app, { form, client, proof }) {
    const allowed = scopeNames(client.scope)
    const requested = form.scope === undefined ? undefined : parseScope(form.scope)
    if (requested) checkWithin(requested, allowed, 'beyond_client_scope')
    const resource = form.resource === undefined ? undefined : await resolveMint(app, form.resource)
    if (resource && requested) checkDeclared(requested, resource)
    const names = requested ?? (resource ? allowed.filter((name) => catalogOf(resource).includes(name)) : allowed)
    return {
      grant_type: 'client_credentials',
      client,
      sub: client.client_id,
      resource: resource?.uri,
      scope: names.join(' '),
      lifetime: app.config.client_credentials.token_expiry,
      jkt: proof?.jkt,
      proof,
    }
  },
} satisfies Grant
