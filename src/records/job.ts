// A job: an operation of the admin API that takes longer than a request may.

export interface AdminJob {
  id: string
  /** Method and path of the request. */
  operation: string
  actor_id: string
  status: 'running' | 'done' | 'failed'
  /** Rows that were changed or counted so far. */
  rows: number
  /** How far it is, 0 to 100. */
  percent: number
  /** The answer, or the members of the refusal. */
  outcome?: unknown
  /** Epoch seconds. */
  created_at: number
  /** When the instance that runs it wrote this last, in epoch seconds. */
  seen_at: number
}

/** Called with the rows that are done, and how far the whole work is, 0 to 1. */
export type OnProgress = (rows: number, share: number) => void
