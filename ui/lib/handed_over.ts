// The credentials of a new client, for the form that opens next. They are in memory only, and no address has them.

export type NewCredentials = Readonly<Record<'client_id' | 'client_secret', string>>

let handed: NewCredentials | undefined
/** Keeps credentials for the form that opens next. */
export const handOver = (credentials: NewCredentials): void => {
  handed = credentials
}
/** The credentials that were handed over, once. */
export function takeHandedOver(): NewCredentials | undefined {
  const taken = handed
  handed = undefined
  return taken
}
