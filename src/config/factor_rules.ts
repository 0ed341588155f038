// Rules between the keys of second factors.
import type { Rule } from './rule.ts'

export const FACTOR_RULES: readonly Rule[] = [
  {
    keys: ['webauthn.rp_id'],
    bad: ({ webauthn: { rp_id }, server }) => rp_id !== '' && !isWithin(rp_id, new URL(server.issuer).hostname),
    message: 'must be the host of server.issuer, or a domain above it',
  },
]

const isWithin = (domain: string, host: string): boolean =>
  host === domain || (host.endsWith(`.${domain}`) && domain.includes('.'))
