// What an authorization request wants of the sign-in. It is read from the request that the login returns to, on each step of the way: the browser can
// change every link, and a link that is made again would have to repeat it.
import type { App } from '../context.ts'
import { type Params, parseParams, splitTarget } from '../http/message.ts'
import { isId } from '../lib/id.ts'
import { PATHS } from '../oauth/metadata.ts'
import { findRequested } from '../oauth/sign_in/pushed_request.ts'
import { adminMaxAge, isAdminUri } from '../oauth/tokens/admin_resource.ts'
import { placeOfTarget, REQUESTS_PATH } from './pages/urls.ts'

interface Wanted {
  /** Maximum seconds since the sign-in: 0 with prompt=login. Undefined when the request requires no new sign-in. */
  max_age?: number
  /** Authentication context classes, separated by spaces. */
  acr_values?: string
  /** The account that the application expects. */
  login_hint?: string
}

/** Maximum length of a hint that is passed on. */
const MAX_HINT = 1024

/** The page of approvals after the sign-in that one of them needs. It names that one, and does not lead to another sign-in if this one was too weak. */
export const confirmedPlace = (confirmed: string): string => `${REQUESTS_PATH}?${new URLSearchParams({ confirmed })}`

/**
 * What the authorization request at `target`, a path of safeRedirect(), or the approval that it names, wants of the sign-in. Nothing for other paths.
 * Throws invalid_request for a malformed query.
 */
export async function wantedBy(app: App, target: string): Promise<Wanted> {
  const { path, query } = splitTarget(placeOfTarget(app, target))
  if (path === REQUESTS_PATH) return wantedByApproval(app, parseParams(query)['confirmed'])
  if (path !== PATHS.authorize) return {}
  const { prompt, max_age = '', acr_values, login_hint, resource } = await paramsOf(app, query)
  const hints = { acr_values, login_hint: login_hint?.slice(0, MAX_HINT) }
  if (prompt?.split(' ').includes('login')) return { max_age: 0, ...hints }
  const asked = app.config.oauth.openid && /^\d{1,9}$/.test(max_age) ? Number(max_age) : undefined
  if (isAdminUri(app.config, resource)) return { max_age: adminMaxAge(asked), ...hints }
  return asked === undefined ? hints : { max_age: asked, ...hints }
}

async function wantedByApproval({ store }: App, id = ''): Promise<Wanted> {
  const polled = isId(id) ? await store.findPolledRequest({ id }) : undefined
  return { acr_values: polled?.approval?.acr_values }
}

/** A pushed request that has ended wants nothing: the authorization endpoint refuses it after the sign-in. */
async function paramsOf(app: App, query: string): Promise<Params> {
  const sent = parseParams(query, 'resource')
  return (await findRequested(app, sent))?.params ?? {}
}
