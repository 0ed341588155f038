// A login that an authorization request requires. Its URL has the parameter `login_for`, which belongs to this request only, and the cookie of
// the new session names the `login_for` that the login was made for. So no other session and no other login satisfies the request.
import { randomBytes } from 'node:crypto'
import type { App } from '../../context.ts'
import { type Params, parseParams, queryParams, replaceParam, splitTarget, withoutParam } from '../../http/message.ts'
import { equalSecrets } from '../../lib/id.ts'
import { askingAgain, requestedParams } from './pushed_request.ts'

const PURPOSE = 'login for an authorization request'
/** When the login page was shown, a random value, and a MAC over both and the request. */
const LOGIN_FOR = /^((\d{1,12})\.[\w-]{16})\.([\w-]{43})$/

/** The query of the same request, for after the login. `sent` is the query as it was sent: encoded again it could be longer than a request may be. */
export function queryAfterLogin(
  { sealer, clock }: Pick<App, 'sealer' | 'clock'>,
  params: Params,
  sent: string,
): string {
  const unsigned = `${clock.now()}.${randomBytes(12).toString('base64url')}`
  const login_for = `${unsigned}.${sealer.mac(PURPOSE, `${unsigned} ${queryOf(params)}`)}`
  return replaceParam(sent, 'login_for', login_for)
}

/** The query of the same request, for after the login of another account than the one that the application named with login_hint. */
export async function queryForAnother(app: App, sent: string): Promise<string> {
  const unnamed = askingAgain(withoutParam(sent, 'login_hint'))
  const { params } = await requestedParams(app, parseParams(unnamed, 'resource'))
  return queryAfterLogin(app, params, unnamed)
}

/**
 * When the login page was shown for the login that this request required. Undefined when the session was not started by that login.
 * `made_for` is the `login_for` of the session.
 */
export function requiredLoginAt(
  { sealer }: Pick<App, 'sealer'>,
  params: Params,
  made_for: string | undefined,
): number | undefined {
  const { login_for = '' } = params
  const [, unsigned, shown_at, mac = ''] = LOGIN_FOR.exec(login_for) ?? []
  if (unsigned === undefined || made_for === undefined || !equalSecrets(made_for, login_for)) return undefined
  const isAuthentic = sealer.macs(PURPOSE, `${unsigned} ${queryOf(params)}`).some((each) => equalSecrets(each, mac))
  return isAuthentic ? Number(shown_at) : undefined
}

/** The `login_for` of the local path that a login returns to. */
export function loginForOf(target: string): string | undefined {
  const login_for = queryParams(splitTarget(target).query).get('login_for') ?? ''
  return LOGIN_FOR.test(login_for) ? login_for : undefined
}

/** The parameters of a request without `login_for`, in the order in which they were sent. */
const queryOf = ({ login_for: _, ...params }: Params): string =>
  new URLSearchParams(
    Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString()
