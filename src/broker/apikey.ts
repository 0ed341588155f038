// Protocol `apikey`: the user enters an API key of the provider, which is handed out unchanged.
import type { Protocol } from './protocol.ts'

export const apikey = {
  name: 'apikey',
  connects: 'key',
  scoped: false,
  storedToken: ({ api_key }, wanted) =>
    api_key === undefined ? undefined : { access_token: api_key, scope: [...wanted] },
} satisfies Protocol

const KEY = /^[\x21-\x7e]{1,4096}$/
/** Whether a text can be an API key. The key must be valid in an HTTP header. */
export const isApiKey = (text: string): boolean => KEY.test(text)
