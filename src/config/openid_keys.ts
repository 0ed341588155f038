// Keys of the OpenID provider, which belong to `oauth`.
import { ID_TOKEN_ALGS } from '../records/rare_members.ts'
import { boolKey, wordKey } from './key.ts'

export const openidKeys = {
  openid: boolKey({
    default: false,
    doc: 'Act as an OpenID provider: ID tokens, the userinfo and logout endpoints, and the scopes openid, profile, email, groups and offline_access.',
  }),
  id_token_alg: wordKey({
    of: ID_TOKEN_ALGS,
    default: 'RS256',
    doc: 'Algorithm of ID tokens and logout tokens for clients that register no id_token_signed_response_alg. If it is not signing.algorithm, a second key signs them. RS256 is the default of OpenID Connect; ES256 costs a fraction of the processor time.',
  }),
  id_token_claims: wordKey({
    of: ['standard', 'all'],
    default: 'standard',
    doc: 'Claims of ID tokens. standard: the email is only at the userinfo endpoint, unless the access token is for a resource. all: every ID token also has the email, if the scope email is granted.',
  }),
} as const
