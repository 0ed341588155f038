// One-time passwords of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds), and recovery codes.
import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { App } from '../../context.ts'
import { digest } from '../../lib/id.ts'
import type { Proven } from '../../records/sign_in.ts'
import type { Factor } from '../../records/user.ts'
import { factorRow } from '../../store/sealed.ts'
import { WITH_CODE, WITH_RECOVERY_CODE } from './second_factor.ts'

const STEP_SECONDS = 30
const SECRET_BYTES = 20

/** A new secret of an app, in base32. */
export const newAppSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

/** The address with which an app takes over a secret. `label` is the account in the list of the app. */
export const appUri = (secret: string, label: string, issuer: string): string =>
  new TOTP({ issuer, label, secret: Secret.fromBase32(secret) }).toString()

/** A code as it is compared: spaces, hyphens and case do not matter. */
const plain = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase()
const isOneTime = (code: string): boolean => /^\d{6}$/.test(code)

/** The time step of the code of a secret at `now`, or one step before or after. Undefined for a wrong code. */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  const token = plain(code)
  if (!isOneTime(token)) return undefined
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const delta = totp.validate({ token, timestamp: now * 1000, window: 1 })
  return delta === null ? undefined : Math.floor(now / STEP_SECONDS) + delta
}

/** The factor of an app that a user has confirmed with the code of `step`. Its secret is encrypted with data_encryption if that is configured. */
export async function newAppFactor(
  { atRest, clock }: App,
  { secret, ...about }: Pick<Factor, 'id' | 'user_id' | 'name'> & { secret: string; last_step: number },
): Promise<Factor> {
  const now = clock.now()
  const stored = atRest
    ? { secret: await atRest.seal('factor', factorRow(about.id), secret) }
    : { secret_clear: secret }
  return { ...about, ...stored, kind: 'totp', created_at: now, last_used_at: now }
}

/** The secret of an app. Throws when it cannot be decrypted. */
async function secretOf({ atRest }: App, { id, secret, secret_clear = '' }: Factor): Promise<string> {
  if (secret === undefined) return secret_clear
  if (!atRest) throw new Error('data_encryption.driver is not set, and the secret of the app was encrypted with it')
  return atRest.open('factor', factorRow(id), secret)
}

/** Without letters and digits that look alike. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const RECOVERY_CODES = 10
const GROUPS = /.{4}/g

/** New recovery codes of a user, and what is stored of them. The same seed, which nothing stores, gives the same codes. */
export function newRecoveryCodes(
  user_id: string,
  seed: string = randomBytes(16).toString('base64url'),
): { shown: string[]; hashes: string[] } {
  const shown = Array.from({ length: RECOVERY_CODES }, (_, i) => {
    const bytes = Buffer.from(digest(`${seed} ${i}`), 'base64url').subarray(0, 12)
    const text = Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('')
    return (text.match(GROUPS) ?? []).join('-')
  })
  return { shown, hashes: shown.map((code) => hashOf(user_id, code)) }
}

const hashOf = (user_id: string, code: string): string => digest(`recovery code ${user_id} ${plain(code)}`)

/** How a user has signed in with a password and this code, which is used up. Undefined for a wrong or used code. */
export async function useCode(
  app: App,
  user_id: string,
  factors: readonly Factor[],
  code: string,
  onRecovery: (use: { user_id: string; hash: string }) => Promise<boolean>,
): Promise<Proven | undefined> {
  const now = app.clock.now()
  if (!isOneTime(plain(code)))
    return (await onRecovery({ user_id, hash: hashOf(user_id, code) })) ? WITH_RECOVERY_CODE : undefined
  for (const factor of factors.filter(({ kind }) => kind === 'totp')) {
    const step = stepOfCode(await secretOf(app, factor), code, now)
    if (step !== undefined && (await app.store.useTotpStep({ id: factor.id, step, now }))) return WITH_CODE
  }
  return undefined
}
