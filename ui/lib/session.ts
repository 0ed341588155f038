// Who is signed in to the page.
import type { Capability } from '../../src/records/api_key.ts'
import { get, parsedAnswer, sendRequest } from './api.ts'

const PATH = '/admin/ui/session'

/** The person or the holder of the key. */
export interface SignedInOperator {
  actor_id: string
  capability: Capability
  /** The session is of a wall view: it can only read, and does not end for want of input. */
  wall?: boolean
}
export interface PageSession {
  /** Absent when no one is signed in. */
  operator?: SignedInOperator
  /** Where people can sign in. */
  providers: { name: string; url: string }[]
}

/** Reads who is signed in. */
export const readPageSession = (): Promise<PageSession> => get<PageSession>(PATH)

/** Exchanges a key for a session. The browser keeps the cookie, and nothing keeps the key. */
export const enterKey = async (key: string): Promise<SignedInOperator> =>
  (await parsedAnswer<{ operator: SignedInOperator }>(await sendRequest('POST', PATH, { key }))).operator

/** Exchanges the session for one of a wall view, which can change nothing. */
export const startWall = async (): Promise<SignedInOperator> =>
  (await parsedAnswer<{ operator: SignedInOperator }>(await sendRequest('POST', `${PATH}/wall`))).operator

const PLACE = 'service.place'
/** Keeps the address for the return from a provider. */
export const keepPlace = (): void => sessionStorage.setItem(PLACE, window.location.pathname + window.location.search)
/** The address that was kept, once. */
export function takePlace(): string | undefined {
  const place = sessionStorage.getItem(PLACE) ?? undefined
  sessionStorage.removeItem(PLACE)
  return place
}

/** Ends the session. It may have ended before. */
export async function signOut(): Promise<void> {
  sessionStorage.clear()
  await sendRequest('DELETE', PATH).catch(() => {})
}
