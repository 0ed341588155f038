// The grants in words. A grant without words does not compile.
import type { GrantType } from '../../src/grants/grant_type.ts'

interface Words {
  /** What a client may ask for, with the name of the grant. */
  client: string
  /** What happens, for readers who do not know OAuth. */
  plain: string
}
const WORDS: Readonly<Record<GrantType, Words>> = {
  authorization_code: {
    client: 'Sign-in of a user (authorization_code)',
    plain: 'The user signs in and allows the application',
  },
  refresh_token: {
    client: 'Staying signed in (refresh_token)',
    plain: 'The application renews the access of the user',
  },
  client_credentials: {
    client: 'Machine tokens (client_credentials)',
    plain: 'The application acts for itself, without a user',
  },
  'urn:ietf:params:oauth:grant-type:token-exchange': {
    client: 'Token exchange',
    plain: 'Another application exchanges the token of the user',
  },
  'urn:ietf:params:oauth:grant-type:jwt-bearer': {
    client: 'ID-JAG assertions (jwt-bearer)',
    plain: 'The identity provider of the company asserts who the user is',
  },
  'urn:ietf:params:oauth:grant-type:device_code': {
    client: 'Devices without a browser (device_code)',
    plain: 'The user enters the code of a device and allows the application',
  },
  'urn:openid:params:grant-type:ciba': {
    client: 'Approval by a person who is elsewhere (CIBA)',
    plain: 'The application asks the user, who decides on another device',
  },
}

/** Each grant_type with its words, as the options of a field. */
export const grantOptions = (kind: keyof Words): (readonly [value: string, text: string])[] =>
  Object.entries(WORDS).map(([type, words]) => [type, words[kind]])
