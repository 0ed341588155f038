// The limits of failed logins. All instances share the counts. An address is locked out; the logins to an account only wait, because otherwise
// any attacker could lock its user out.
import type { App } from '../../context.ts'
import type { Request } from '../../http/message.ts'
import { subscriber } from '../../http/rate_limit.ts'
import { comparableEmail } from '../../lib/email.ts'
import { HOUR } from '../../lib/time.ts'
import { audit, sentBy } from '../../oauth/audit.ts'
import type { FailureKey } from '../../store/people/login_failures.ts'

/** What an attempt came to. */
export interface TriedLogin<R> {
  /** `undecided` when it was aborted. */
  result: 'success' | 'failure' | 'undecided'
  /** The account that it named, if that exists. */
  user_id?: string
  answer: () => R | Promise<R>
}

interface LimitedLogin<R> {
  request: Request
  /** Who causes the events of lockouts; empty when that is not known. */
  actor_id: string
  /** The answer to an attempt that must wait. */
  refuse: (wait: number) => R | Promise<R>
  prove: () => Promise<TriedLogin<R>>
}

/** Answers an attempt within the limits, and records the lockouts that it began. */
export async function limitedLogin<R>(
  app: App,
  attempt: LoginAttempt,
  { request, actor_id, refuse, prove }: LimitedLogin<R>,
): Promise<R> {
  const wait = await beginLogin(app, attempt)
  if (wait > 0) return refuse(wait)
  let tried: Omit<TriedLogin<R>, 'answer'> = { result: 'undecided' }
  try {
    const delay = await delayLogin(app, attempt)
    if (delay > 0) return refuse(delay)
    const { answer, ...decided } = await prove()
    tried = decided
    return answer()
  } finally {
    const { result, user_id } = tried
    const began = await endLogin(app, attempt, result, user_id)
    const by = { actor_id, ...sentBy(request) }
    if (began.address) await audit(app, { action: 'auth_locked_out', ...by })
    // Also for an email without an account: the response must not reveal by its time whether the account exists.
    if (began.account) await audit(app, { action: 'account_throttled', ...by, detail: { user_id } })
  }
}

/** A login attempt: where it comes from, and the account that it names, whether or not that exists. */
interface LoginAttempt {
  address: string
  /** MACs of the email with each session secret, because users sometimes type a password into its field. Empty when no account can have the email. */
  accounts: readonly string[]
}

/** The attempt of an address to sign in with an email. */
export const loginAttempt = (app: App, address: string, email: string | undefined): LoginAttempt => ({
  address,
  accounts: email ? app.sealer.macs('login failures of an account', comparableEmail(email)) : [],
})

const limitsOf = ({ config: { rate_limit } }: App) => ({
  address: {
    max: rate_limit.auth_fail_max,
    window: Math.floor(rate_limit.auth_fail_window),
    lockout: Math.floor(rate_limit.auth_lockout),
  },
  account: { max: rate_limit.account_fail_max, window: HOUR, lockout: HOUR },
})

/** Starts a login attempt. Returns 0 when it is allowed, otherwise the number of seconds to wait. Attempts in progress count as failures. */
async function beginLogin(app: App, { address }: LoginAttempt): Promise<number> {
  const { max, window } = limitsOf(app).address
  if (max === 0) return 0
  let allowed = false
  const inProgress = await app.loginAttempts.begin(address)
  try {
    if (inProgress > max) return 1
    const now = app.clock.now()
    const key = { address: subscriber(address) }
    const { failures, locked_until } = await app.store.findLoginFailures({ key, now, window })
    if (locked_until > now) return locked_until - now
    allowed = failures + inProgress <= max
    return allowed ? 0 : 1
  } finally {
    if (!allowed) await app.loginAttempts.end(address)
  }
}

/**
 * Lets an attempt wait when its account had too many failures. The attempts of one address wait for each other, those of other addresses do
 * not. Returns 0 afterwards, or the number of seconds to wait when too many attempts of the address wait already.
 */
async function delayLogin(app: App, { address, accounts }: LoginAttempt): Promise<number> {
  const { max, window } = limitsOf(app).account
  if (max === 0) return 0
  const now = app.clock.now()
  const found = await Promise.all(
    accounts.map((account) => app.store.findLoginFailures({ key: { account }, now, window })),
  )
  if (found.every(({ locked_until }) => locked_until <= now)) return 0
  app.metrics.count('ext_logins_delayed_total')
  return app.waitingRoom.enter(`${subscriber(address)} ${accounts[0]}`)
}

/** Ends an attempt that beginLogin() allowed. Returns whether it began a lockout of the address or of the account. */
async function endLogin(
  app: App,
  { address, accounts: [account] }: LoginAttempt,
  result: TriedLogin<unknown>['result'],
  user_id?: string,
): Promise<{ address: boolean; account: boolean }> {
  const limits = limitsOf(app)
  const now = app.clock.now()
  const expired_before = now - Math.max(limits.address.window, limits.account.window)
  const fail = async (key: FailureKey, { max, ...limit }: (typeof limits)['address'], user_id?: string) =>
    max > 0 && app.store.addLoginFailure({ key, user_id, now, max, ...limit, expired_before })
  const key = { address: subscriber(address) }
  try {
    if (result === 'success' && limits.address.max > 0 && account !== undefined)
      await app.store.forgiveLoginFailures({ ...key, account, now, window: limits.address.window })
    if (result !== 'failure') return { address: false, account: false }
    const [byAddress, byAccount] = await Promise.all([
      fail(key, limits.address),
      account !== undefined && fail({ account }, limits.account, user_id),
      account !== undefined && fail({ ...key, account }, { ...limits.address, max: Number.MAX_SAFE_INTEGER }),
    ])
    return { address: byAddress, account: byAccount }
  } finally {
    if (limits.address.max > 0) await app.loginAttempts.end(address)
  }
}
