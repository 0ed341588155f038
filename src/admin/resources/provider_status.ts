// The state of the upstream providers: those for sign-ins, the keys of those whose assertions are accepted, and the last failure of each provider of broker resources.
import { setTimeout as sleep } from 'node:timers/promises'
import type { App, OidcProvider } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { idFloor } from '../../lib/id.ts'
import { DAY, dated, rfc3339 } from '../../lib/time.ts'
import type { KeySetState } from '../../net/jwks.ts'
import type { AuditAction } from '../../oauth/audit_events.ts'
import type { AuditEvent } from '../../records/audit_event.ts'
import type { Idp } from '../../records/idp.ts'
import type { ScimState } from '../../store/people/scim_providers.ts'
import { withXaa } from './idps.ts'

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
  const [brokers, scim, idps] = await Promise.all([
    app.store.listProviders(),
    app.config.scim.enabled ? app.store.listScimStates({}) : [],
    withXaa(app.config) ? app.store.listIdps() : [],
  ])
  return [
    ...(await Promise.all(
      app.oidc.map(async (provider) => ({
        slug: provider.slug,
        use: 'sign_in' as const,
        issuer: provider.settings.issuer,
        ...(await stateOf(provider)),
        ...lastOf(signIns, provider.slug),
        ...scimOf(scim, provider.slug),
      })),
    )),
    ...(await Promise.all(idps.filter(({ enabled }) => enabled).map((idp) => idpState(app, idp)))),
    ...brokers.map(({ slug }) => ({ slug, use: 'connections' as const, ...lastOf(connections, slug) })),
  ]
}

/** Whether the keys of an identity provider can be fetched, and since when they cannot. The cached keys are used for some time after that. */
async function idpState(app: App, { id, name, issuer, jwks_uri }: Idp) {
  const timeout: KeySetState = { keys: 0, failure: { reason: 'timeout', since: app.clock.now() } }
  const late = sleep(ANSWER_MS, [timeout], { ref: false })
  const found = await Promise.race([lookAtKeys(app, jwks_uri), late])
  const states = found.length > 0 ? found : [timeout]
  const failures = states.flatMap(({ failure }) => failure ?? [])
  const keys = Math.min(...states.map(({ keys }) => keys))
  const [first] = failures.sort((a, b) => a.since - b.since)
  return {
    slug: name,
    id,
    use: 'assertions' as const,
    issuer,
    usable: keys > 0 && !first,
    keys,
    ...(first ? { reason: `jwks_${first.reason}`, since: rfc3339(first.since) } : {}),
  }
}

/** The threads that verify assertions have their own key sets. */
const lookAtKeys = async ({ frontPool, remoteKeys }: App, jwks_uri: string): Promise<KeySetState[]> =>
  (await frontPool?.lookAtKeys(jwks_uri)) ?? [await remoteKeys.look(jwks_uri)]

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

/** What the provider did over SCIM, if it has a key. */
function scimOf(states: readonly ScimState[], slug: string) {
  const state = states.find(({ provider }) => provider === slug)
  if (!state) return {}
  const { provider: _, ...shown } = state
  return { scim: dated(shown) }
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
