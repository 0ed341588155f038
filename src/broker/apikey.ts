// Protocol `apikey`: the user types in a key of the provider, and it is handed out as it is.
import type { Protocol } from './protocol.ts'

export const apikey = {
  name: 'apikey',
  connects: 'key',
  scoped: false,
  held: ({ api_key }, wanted) => (api_key === undefined ? undefined : { access_token: api_key, scope: [...wanted] }),
} satisfies Protocol

const KEY = /^[\x21-\x7e]{1,4096}$/
/** Whether a text can be a key: it goes into a header. */
export const isApiKey = (text: string): boolean => KEY.test(text)
