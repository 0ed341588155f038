// What a login form proves: a password, and the second factor of a user who has one. Until both are right, nothing tells a right password from
// a wrong one: the form then asks for a code in any case, and remembers for a few minutes, encrypted, whether the password was right.
import type { App } from '../../context.ts'
import { MAX_PASSWORD_BYTES } from '../../crypto/passwords.ts'
import type { Params, Request } from '../../http/message.ts'
import { comparableEmail } from '../../lib/email.ts'
import { equalSecrets, newSecret } from '../../lib/id.ts'
import { newAuditEvent, sentBy } from '../../oauth/audit.ts'
import { useCode } from '../../oauth/sign_in/codes.ts'
import { verifyPassword } from '../../oauth/sign_in/password_kinds.ts'
import type { Proven } from '../../records/sign_in.ts'
import type { Factor, User } from '../../records/user.ts'

export const MAX_EMAIL = 320

/** What was proven. `how` is undefined when the user may not sign in with it. */
export interface LoginProof {
  /** The user with the email, if there is one. */
  user?: User
  how?: Proven
  /** Seconds after which another code may be tried. */
  wait?: number
  /** For the form that follows: whether the password was right. */
  checked: string
}

/** Checks the email, the password and the code of a form. */
export async function proveLogin(app: App, request: Request, form: Params): Promise<LoginProof> {
  const email = form.email?.trim() ?? ''
  const user = email === '' || email.length > MAX_EMAIL ? undefined : await app.store.findUserByEmail({ email })
  const isRight = await isPasswordRight(app, email, user, form)
  // Also for a wrong password: the time of the answer must not depend on it.
  const factors = await app.store.listFactors({ user_id: user?.id ?? '' })
  const checked = await seal(app, email, isRight ? user : undefined)
  if (!user || !isRight) return { user, checked }
  if (factors.length === 0) return { user, checked, how: {} }
  return { user, checked, ...(form.code?.trim() ? await tryCode(app, request, user, factors, form.code) : {}) }
}

async function isPasswordRight(app: App, email: string, user: User | undefined, form: Params): Promise<boolean> {
  const { password = '', checked } = form
  const mayEnter = user?.provider === 'local' && user.status === 'active'
  if (password === '' && checked !== undefined) return mayEnter && (await wasRight(app, email, user, checked))
  if (email.length > MAX_EMAIL || Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return false
  const { right, rehashed } = await verifyPassword(app, password, user?.password_hash)
  if (!mayEnter || !user.password_hash || !right) return false
  if (rehashed) await app.store.rehashPassword({ id: user.id, from: user.password_hash, to: rehashed })
  return true
}

/** Seconds for which the form that follows needs no password. */
const CHECKED_SECONDS = 300
const RIGHT = 'the password was right'
/** A change of the password, or of the way it is hashed, makes it void. */
const proofOf = ({ id, password_hash }: User): string => `${id} ${password_hash}`

/** Of the same form and length for a right and a wrong password. */
const seal = ({ sealer, clock }: App, email: string, user: User | undefined): Promise<string> =>
  sealer.seal({
    checked_email: comparableEmail(email.slice(0, MAX_EMAIL)),
    at: clock.now(),
    proof: user ? sealer.mac(RIGHT, proofOf(user)) : newSecret(),
  })

async function wasRight({ sealer, clock }: App, email: string, user: User, checked: string): Promise<boolean> {
  const { checked_email, at, proof } = (await sealer.open(checked)) ?? {}
  if (typeof at !== 'number' || typeof proof !== 'string' || at + CHECKED_SECONDS <= clock.now()) return false
  if (checked_email !== comparableEmail(email)) return false
  return sealer.macs(RIGHT, proofOf(user)).some((mac) => equalSecrets(mac, proof))
}

/** Wrong codes of an account after which each further one waits, and the seconds in which they count. */
const [MAX_WRONG_CODES, WINDOW] = [5, 300]

/** Uses a code. The tries of an account wait for each other after too many wrong ones, from whatever address. */
async function tryCode(
  app: App,
  request: Request,
  user: User,
  factors: readonly Factor[],
  code: string,
): Promise<Pick<LoginProof, 'how' | 'wait'>> {
  const wait = await waitForTurn(app, user)
  if (wait > 0) return { wait }
  const event = newAuditEvent(app, { action: 'recovery_code_used', actor_id: user.id, ...sentBy(request) })
  const how = await useCode(app, user.id, factors, code, (use) => app.store.recorded('useRecoveryCode', use, event))
  if (!how) await countWrongCode(app, user)
  return { how }
}

const keysOf = ({ sealer }: App, { id }: User) =>
  sealer.macs('wrong codes of an account', id).map((account) => ({ account }))

/** Counts a wrong code. */
async function countWrongCode(app: App, user: User): Promise<void> {
  const now = app.clock.now()
  const [key] = keysOf(app, user)
  const limit = { max: MAX_WRONG_CODES, window: WINDOW, lockout: WINDOW, expired_before: now - WINDOW }
  if (key) await app.store.addLoginFailure({ key, user_id: user.id, now, ...limit })
}

/** Waits if the account had too many wrong codes. Returns 0 afterwards, or the seconds to wait when too many tries wait already. */
async function waitForTurn(app: App, user: User): Promise<number> {
  const now = app.clock.now()
  const found = await Promise.all(
    keysOf(app, user).map((key) => app.store.findLoginFailures({ key, now, window: WINDOW })),
  )
  if (found.every(({ locked_until }) => locked_until <= now)) return 0
  app.metrics.count('ext_logins_delayed_total')
  return app.waitingRoom.enter(`codes ${user.id}`)
}
