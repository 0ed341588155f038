import { expect, test } from 'vitest'
import { longestLife } from '../../src/config/lifetimes.ts'
import { loadConfig } from '../../src/config/load.ts'

const hour = 3600

test.each([
  'SERVICE_DCR_DEFAULT_TOKEN_EXPIRY',
  'SERVICE_CLIENT_CREDENTIALS_TOKEN_EXPIRY',
  'SERVICE_TOKEN_EXCHANGE_TOKEN_EXPIRY',
  'SERVICE_XAA_TOKEN_EXPIRY',
])('the longest life of an access token follows %s when that is the longest', (name) => {
  expect(longestLife(loadConfig(undefined, {}).config)).toBe(hour)
  expect(longestLife(loadConfig(undefined, { [name]: '5h' }).config)).toBe(5 * hour)
})
