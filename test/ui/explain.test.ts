import { describe, expect, test } from 'vitest'
import { REASONS } from '../../src/lib/reasons/index.ts'
import { explain } from '../../ui/lib/explain.ts'

describe('the explanation of a failure', () => {
  test.each([
    ['missing_code_challenge', /PKCE/],
    ['pkce_mismatch', /another request/],
    ['code_expired', /older than oauth.code_expiry/],
    ['refresh_token_reused', /used before/],
    ['user_inactive', /disabled/],
    ['cimd_host_rate', /Too many/],
    ['cimd_blocked_address', /private address/],
    ['cimd_timeout', /cannot fetch/],
    ['oidc_whatever_a_provider_says', /sign-in at the provider failed/],
    ['store_lane_full', /is full/],
  ])('%s has an explanation without Markdown', (reason, why) => {
    const advice = explain(reason, 'in the words of the server')
    expect(advice.why).toMatch(why)
    expect(JSON.stringify(advice)).not.toMatch(/`|\]\(/)
  })

  test('a text that is no reason is shown in the words of the server', () => {
    expect(explain('no such reason', 'the subject token does not have the scope').why).toBe(
      'the subject token does not have the scope',
    )
  })

  test('no reason has two rows', () => {
    const names = Object.values(REASONS).flatMap((rows) => rows.flatMap(([reasons]) => reasons.split(' ')))
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
  })
})
