import { describe, expect, test } from 'vitest'
import { explain } from '../../ui/lib/explain.ts'

describe('the explanation of a failure', () => {
  test.each([
    ['missing_code_challenge', /PKCE/],
    ['unsupported_challenge_method', /PKCE/],
    ['pkce_mismatch', /PKCE/],
    ['code_expired', /authorization code/],
    ['refresh_token_reused', /used twice/],
    ['refresh_token_expired', /expired or revoked/],
    ['family_revoked', /expired or revoked/],
    ['user_inactive', /disabled/],
    ['user_disabled', /disabled/],
    ['cimd_host_rate', /Too many/],
    ['cimd_blocked_address', /private address/],
    ['cimd_timeout', /could not be fetched/],
    ['login_failure', /sign-in failed/],
    ['login_locked_out', /Too many failed/],
    ['subject_not_mapped', /subject of the assertion/],
  ])('%s has an explanation', (reason, why) => {
    expect(explain(reason, 'in the words of the server').why).toMatch(why)
  })

  test('an unknown reason is shown in the words of the server', () => {
    expect(explain('subject_scope_ceiling', 'the subject token does not have the scope').why).toBe(
      'the subject token does not have the scope',
    )
  })
})
