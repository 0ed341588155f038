// The rule for new passwords, for operators and users alike.
import { z } from 'zod'
import { MAX_PASSWORD_BYTES } from '../../crypto/passwords.ts'

export const MIN_PASSWORD = 8

/** A new password. */
export const newPassword = z
  .string()
  .meta({ minLength: MIN_PASSWORD })
  .refine((value) => value.isWellFormed(), 'must be text')
  .refine((value) => [...value].length >= MIN_PASSWORD, `must have at least ${MIN_PASSWORD} characters`)
  .refine(
    (value) => Buffer.byteLength(value.normalize('NFC')) <= MAX_PASSWORD_BYTES,
    `must have at most ${MAX_PASSWORD_BYTES} bytes`,
  )

/** What is wrong with a new password that was entered twice, by its message in the catalogue. */
export function passwordFault(next: string, again: string | undefined): 'tooShort' | 'tooLong' | 'differs' | undefined {
  if (!newPassword.safeParse(next).success) return [...next].length < MIN_PASSWORD ? 'tooShort' : 'tooLong'
  return next === again ? undefined : 'differs'
}
