// Keys of the second factors of local users.
import { boolKey, textKey, wordKey } from './key.ts'

export const factorKeys = {
  mfa: {
    required: wordKey({
      of: ['never', 'admins', 'always'],
      default: 'never',
      doc: 'Which local users need a second factor at every sign-in: none, those with the role admin, or all. A user who has none adds one after the next sign-in. Users who have a factor are always asked for it.',
    }),
  },
  webauthn: {
    enabled: boolKey({
      default: true,
      doc: 'Let local users add passkeys and sign in with them. Without it the pages for users have no script.',
    }),
    rp_id: textKey({
      doc: 'Domain that passkeys belong to: the host of server.issuer, or a domain above it. Empty: the host. With another value no passkey that users have works any longer.',
    }),
  },
} as const
