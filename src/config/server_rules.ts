// Rules between the keys of the public listener, and rules that their types cannot express.
import { parseRange } from '../lib/range.ts'
import type { Rule } from './rule.ts'

export const SERVER_RULES: readonly Rule[] = [
  {
    keys: ['server.issuer_trailing_slash'],
    bad: (c) =>
      c.server.issuer_trailing_slash && URL.canParse(c.server.issuer) && new URL(c.server.issuer).pathname !== '/',
    message: 'needs an issuer without a path',
  },
  {
    keys: ['server.trusted_proxies'],
    bad: (c) => !c.server.trusted_proxies.every((each) => parseRange(each) !== undefined),
    message: 'must be addresses or CIDR ranges such as 10.0.0.0/8',
  },
  {
    keys: ['server.front_threads', 'server.http_engine'],
    bad: (c) => c.server.front_threads > 1 && c.server.http_engine === 'node',
    message: 'several front threads need uWebSockets.js: node:http cannot share a port among threads',
  },
]
