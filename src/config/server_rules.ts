// Rules between the keys of the public listener, and rules that their types cannot express.
import { parseRange } from '../lib/range.ts'
import { type Rule, rule } from './rule.ts'

export const SERVER_RULES: readonly Rule[] = [
  rule(
    'server.issuer_trailing_slash',
    'needs an issuer without a path',
    (c) => c.server.issuer_trailing_slash && URL.canParse(c.server.issuer) && new URL(c.server.issuer).pathname !== '/',
  ),
  rule(
    'server.trusted_proxies',
    'must be addresses or CIDR ranges such as 10.0.0.0/8',
    (c) => !c.server.trusted_proxies.every((each) => parseRange(each) !== undefined),
  ),
  rule(
    ['server.front_threads', 'server.http_engine'],
    'several front threads need uWebSockets.js: node:http cannot share a port among threads',
    (c) => c.server.front_threads > 1 && c.server.http_engine === 'node',
  ),
]
