// Who calls: the holder of a SCIM key, and the provider whose people the key manages.
import { scimProviderOf } from '../config/scim_rules.ts'
import type { App } from '../context.ts'
import type { Request, RequestHead } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { apiKeyFinder, wrongKeyCounter } from '../oauth/stored_api_key.ts'
import type { ApiKey } from '../records/api_key.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { ScimProvider } from '../records/scim.ts'

export interface ScimCaller {
  provider: ScimProvider
  /** The event of a change; the operation says what it did. */
  event(): AuditEvent
}

/** Returns a function that finds the caller of a request. It throws unauthorized, access_denied, or slow_down beyond the budget of the key. */
export function callerFinder(app: App): (request: Request) => Promise<ScimCaller> {
  const { config, store, clock, clientLimiter, oidc } = app
  const findKey = apiKeyFinder(store, clock)
  const countWrongKey = wrongKeyCounter('scim_key', config, store)

  return async (request) => {
    const key = await findKey(presentedKey(request))
    if (!key) throw countWrongKey(request) ?? wrongKey()
    if (key.capability !== 'scim')
      throw new OAuthError('access_denied', 'this key is not for SCIM', { reason: 'no_scim_key' })
    // The provider of the key sends the people of its company: its address is known like that of a client of operators.
    request.notes.isOperatorsClient = true
    // A budget of its own, whatever clients use.
    const budget = { client_id: `scim ${key.id}`, requests_per_second: config.scim.requests_per_second }
    const reached = config.rate_limit.enabled ? await clientLimiter.take(budget) : undefined
    if (reached)
      throw new OAuthError('slow_down', `this key may send ${budget.requests_per_second} requests per second`, {
        reason: 'scim_requests_per_second',
        headers: { 'retry-after': String(reached.wait) },
        uncounted: true,
      })
    return { provider: providerOf(app, oidc, key), event: () => eventOf(app, request, key) }
  }
}

function providerOf({ config }: App, oidc: App['oidc'], key: ApiKey): ScimProvider {
  const provider = oidc.find(({ slug }) => slug === key.provider)
  if (!provider)
    throw new OAuthError('access_denied', 'the provider of this key is not enabled', { reason: 'scim_no_provider' })
  return scimProviderOf(config, provider)
}

const eventOf = (app: App, request: Request, { name }: ApiKey): AuditEvent =>
  newAuditEvent(app, { action: 'user_updated', actor_id: `scim:${name}`, ...sentBy(request) })

const SCHEME = /^Bearer ([\x21-\x7e]+)$/i
function presentedKey({ headers: { authorization = '' }, repeated }: RequestHead): string {
  const key = SCHEME.exec(authorization)?.[1]
  if (key === undefined || repeated.includes('authorization'))
    throw new OAuthError('unauthorized', 'a SCIM key is required', { reason: 'missing_key' })
  return key
}

const wrongKey = () => new OAuthError('unauthorized', 'the SCIM key is wrong', { reason: 'wrong_key' })
