// What a button starts: whether it is under way, and why it failed.
import { useState } from 'preact/hooks'

export interface ButtonWork {
  busy: boolean
  error?: Error
  /** Runs some work. The error of the work before is forgotten. */
  run(work: () => Promise<unknown>): Promise<void>
}

/** The work of a component, one after the other. */
export function useWork(): ButtonWork {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true)
    setError(undefined)
    await work().catch(setError)
    setBusy(false)
  }
  return { busy, error, run }
}
