// The way of a local admin from the admin page to the sign-in with a passkey and back: two encrypted values, which name the browser that started.
import type { App } from '../../context.ts'
import { newId } from '../../lib/id.ts'
import { consumeOnce } from '../tokens/single_use.ts'

/** The page of the public listener that the admin page sends browsers to. */
export const ADMIN_ENTRY_PATH = '/admin-sign-in'
/** Seconds for the sign-in, and for the way back. */
const [ENTRY_SECONDS, CODE_SECONDS] = [600, 60]

/** A request for a sign-in, from a browser of the admin page. */
export const adminEntry = ({ sealer, clock }: App, admin_browser: string): Promise<string> =>
  sealer.seal({ admin_entry: admin_browser, at: clock.now() })

/** The browser of a request for a sign-in, and when it was made. Undefined when it is not valid, or has expired. */
export async function openAdminEntry({ sealer, clock }: App, text: string) {
  const { admin_entry, at } = (await sealer.open(text)) ?? {}
  const isValid = typeof admin_entry === 'string' && typeof at === 'number' && at + ENTRY_SECONDS > clock.now()
  return isValid ? { admin_browser: admin_entry, at } : undefined
}

/** The code of a person who has signed in for a request. */
export const adminCode = ({ sealer, clock }: App, admin_browser: string, user_id: string): Promise<string> =>
  sealer.seal({ admin_code: newId(), admin_browser, user_id, at: clock.now() })

/** The person of a code, which is used up. Undefined when it is not valid, has expired, was used, or is of another browser. */
export async function openAdminCode(app: App, browser: string, text: string): Promise<string | undefined> {
  const { admin_code, admin_browser, user_id, at } = (await app.sealer.open(text)) ?? {}
  if (typeof admin_code !== 'string' || typeof user_id !== 'string' || typeof at !== 'number') return undefined
  const until = at + CODE_SECONDS
  if (admin_browser !== browser || until <= app.clock.now()) return undefined
  return (await consumeOnce(app, 'admin_code', browser, admin_code, until)) ? user_id : undefined
}
