// The state of the upstream providers: the providers for sign-ins, and the last failure of each provider of broker resources.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App, OidcProvider } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { idFloor } from '../lib/id.ts'
import { DAY, rfc3339 } from '../lib/time.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import type { AuditEvent } from '../records/audit_event.ts'

/** Milliseconds that a provider has to answer. */
const ANSWER_MS = 2000
/** How far back the last failure of a provider is looked for: time and number of events. */
const [FAILURE_AGE, FAILURES] = [30 * DAY, 200]

/** The state of every provider, as the status shows it. */
export async function providerStates(app: App) {
  const [signIns, connections] = await Promise.all([
    failuresOf(app, 'user_oidc_login_failed'),
    failuresOf(app, 'broker_connect_failed'),
  ])
  const brokers = await app.store.listProviders()
  return [
    ...(await Promise.all(
      app.oidc.map(async (provider) => ({
        slug: provider.slug,
        use: 'sign_in' as const,
        issuer: provider.settings.issuer,
        ...(await stateOf(provider)),
        ...lastOf(signIns, provider.slug),
      })),
    )),
    ...brokers.map(({ slug }) => ({ slug, use: 'connections' as const, ...lastOf(connections, slug) })),
  ]
}

/** Whether the provider can be used: `issuer_found` is the issuer in its metadata, when that differs from the configuration. */
async function stateOf({ look, settings }: OidcProvider) {
  const late = sleep(ANSWER_MS, undefined, { ref: false }).then(() => {
    throw new OAuthError('server_error', 'no answer', { reason: 'oidc_timeout' })
  })
  try {
    const { keys } = await Promise.race([look(), late])
    return { usable: keys > 0, issuer_found: settings.issuer, keys }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const { reason, more } = error
    const found = reason === 'oidc_issuer_differs' ? { issuer_found: more.about?.['found'] } : {}
    return { usable: false, reason, ...found }
  }
}

const failuresOf = ({ store, clock }: App, action: AuditAction): Promise<AuditEvent[]> =>
  store.listAudit({ action, since: idFloor(clock.now() - FAILURE_AGE), limit: FAILURES, offset: 0 })

function lastOf(failures: readonly AuditEvent[], slug: string) {
  const event = failures.find(({ detail }) => detail['provider'] === slug)
  if (!event) return {}
  const { reason, expected, found } = event.detail
  return {
    last_failure: { at: rfc3339(event.created_at), request_id: event.request_id ?? '', reason, expected, found },
  }
}
