// Values in memory for the page that opens next: no address has them, and nothing keeps them.
import type { Pasted } from './pasted.ts'

/** A place for one value: a function that holds a value, and one that takes it, once. */
function place<T>(): [hold: (value: T) => void, take: () => T | undefined] {
  let held: T | undefined
  const hold = (value?: T) => {
    const before = held
    held = value
    return before
  }
  return [hold, () => hold()]
}

/** A pasted value, for the search and for the incidents. */
export const [hold, takeHeld] = place<Pasted>()

export type NewCredentials = Readonly<Record<'client_id' | 'client_secret', string>>
/** The credentials of a new client, for the form that gets a token with them. */
export const [handOver, takeHandedOver] = place<NewCredentials>()
