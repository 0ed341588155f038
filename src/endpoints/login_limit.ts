// The limit of failed logins. Each instance serializes the concurrent attempts of an address; all instances share the count.
import type { App } from '../context.ts'
import { type LoginResult, subscriber } from '../http/rate_limit.ts'

/** Starts a login attempt. Returns 0 when it is allowed, otherwise the number of seconds to wait. */
export async function beginLogin({ lockout, store, clock, config }: App, address: string): Promise<number> {
  const { auth_fail_max: max, auth_fail_window } = config.rate_limit
  const wait = await lockout.begin(address)
  if (wait > 0 || max === 0) return wait
  const now = clock.now()
  const { locked_until } = await store
    .findLoginFailures({ address: subscriber(address), since: now - auth_fail_window })
    .catch(async (error: unknown) => {
      await lockout.end(address, 'undecided')
      throw error
    })
  if (locked_until <= now) return 0
  await lockout.end(address, 'undecided')
  return locked_until - now
}

/** Ends an attempt that beginLogin() allowed. Returns whether it locked the address out. */
export async function endLogin(app: App, address: string, result: LoginResult): Promise<boolean> {
  const { lockout, store, clock, config } = app
  const { auth_fail_max: max, auth_fail_window: window, auth_lockout } = config.rate_limit
  const here = await lockout.end(address, result)
  if (max === 0 || result === 'undecided') return here
  const shared = subscriber(address)
  if (result === 'failure')
    return store.addLoginFailure({ address: shared, now: clock.now(), window, max, lockout: auth_lockout })
  await store.clearLoginFailures({ address: shared })
  return here
}
