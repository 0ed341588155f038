// Writes that another write overtook. They are decided again, from what is stored then.
import { OAuthError } from '../lib/error.ts'

/** The record has changed since it was read, and nothing was written. */
class StaleError extends Error {}

/** The outcome of a write. Throws the error on which retryStale() decides again, when another write came first. */
export function notStale<O>(outcome: O): Exclude<O, 'stale'> {
  if (outcome === 'stale') throw new StaleError('another write came first')
  return outcome as Exclude<O, 'stale'>
}

const ATTEMPTS = 5
/** Reads, decides and writes again while another write comes first. Throws conflict after five attempts. */
export async function retryStale<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = ATTEMPTS; left > 0; left--)
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof StaleError)) throw error
    }
  throw new OAuthError('conflict', 'other requests are changing it now; try again', { reason: 'stale' })
}
