// Catches the error of a refusal, so that a test can check every part of it.
import { assert } from 'vitest'
import { OAuthError } from '../../src/lib/error.ts'

/** The OAuthError that `act` throws, or rejects with; fails when it does neither. */
export async function refusalOf(act: () => unknown): Promise<OAuthError> {
  try {
    await act()
  } catch (error) {
    assert(error instanceof OAuthError, `threw ${String(error)}, not an OAuthError`)
    return error
  }
  return assert.fail('nothing was refused')
}

/** The error that work ends with; undefined when it ends well. */
export const failureOf = (work: Promise<unknown>): Promise<Error | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => error as Error,
  )
