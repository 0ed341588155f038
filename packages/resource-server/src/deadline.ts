// The time limit of a request. AbortSignal.any and AbortSignal.timeout are not used: on Node 20 the signal that they return can be collected
// as garbage before it aborts, so that a request to a lost connection would never end.

/** A request was not answered in time. */
export class DeadlineError extends Error {}

/**
 * Runs `work` with a signal that aborts after `ms`, or when `ended` aborts. Throws DeadlineError after `ms`, also when `work` ignores the
 * signal. The timer holds everything until then.
 */
export async function withDeadline<T>(
  ms: number,
  ended: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let onEnd = () => {}
  let timer: ReturnType<typeof setTimeout> | undefined
  const stopped = new Promise<never>((_, reject) => {
    const stop = (error: Error) => {
      controller.abort(error)
      reject(error)
    }
    timer = setTimeout(() => stop(new DeadlineError(`no answer within ${ms} ms`)), ms)
    onEnd = () => stop(new Error('the verifier was closed'))
    ended?.addEventListener('abort', onEnd)
    if (ended?.aborted) onEnd()
  })
  try {
    return await Promise.race([work(controller.signal), stopped])
  } finally {
    clearTimeout(timer)
    ended?.removeEventListener('abort', onEnd)
  }
}
