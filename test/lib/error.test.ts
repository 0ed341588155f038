// The error type and its table.
import { expect, test } from 'vitest'
import { CODES, type ErrorCode, isOverloaded, OAuthError, overloaded, unavailable } from '../../src/lib/error.ts'

test('every code has an error status and a sentence about its meaning', () => {
  for (const [code, { status, doc }] of Object.entries(CODES)) {
    expect(code).toMatch(/^[a-z_]+$/)
    expect(status, code).toBeGreaterThanOrEqual(400)
    expect(status, code).toBeLessThan(600)
    expect(doc, code).toMatch(/\.$/)
  }
})

test('an error has the status of its code, unless it has its own', () => {
  expect(new OAuthError('invalid_client', 'x').status).toBe(401)
  expect(new OAuthError('invalid_client', 'x', { status: 400 }).status).toBe(400)
})

test('the reason of an error is its code, unless it has its own', () => {
  expect(new OAuthError('invalid_grant', 'x').reason).toBe('invalid_grant')
  expect(new OAuthError('invalid_grant', 'x', { reason: 'code_reused' }).reason).toBe('code_reused')
})

test('only server errors have a stack trace', () => {
  for (const code of Object.keys(CODES) as ErrorCode[]) {
    const { stack } = new OAuthError(code, 'what happened')
    expect(/\n\s+at /.test(stack ?? ''), code).toBe(code === 'server_error')
  }
  expect(new OAuthError('server_error', 'x', { status: 400 }).stack).not.toContain('\n    at ')
})

test('errors created after a refusal have their stack traces', () => {
  new OAuthError('invalid_request', 'x')
  expect(new Error('later').stack).toContain('\n    at ')
})

test('the cause of an error is kept for the log', () => {
  const cause = new Error('disk full')
  expect(new OAuthError('server_error', 'x', { cause }).cause).toBe(cause)
  expect('cause' in new OAuthError('server_error', 'x')).toBe(false)
})

test('unavailable() is a 503 with Retry-After', () => {
  const error = unavailable('busy', { reason: 'lane_full', headers: { 'x-more': '1' } })
  expect(error.code).toBe('temporarily_unavailable')
  expect(error.status).toBe(503)
  expect(error.reason).toBe('lane_full')
  expect(error.more.headers).toEqual({ 'retry-after': '1', 'x-more': '1' })
})

test('the reason of an overload names the full resource', () => {
  const bounded = ['crypto_lane', 'store_lane', 'password_lane', 'body_room', 'outbound', 'used_set']
  expect(bounded.map((what) => overloaded(what).reason)).toEqual([
    'crypto_lane_full',
    'store_lane_full',
    'password_lane_full',
    'body_room_full',
    'outbound_full',
    'used_set_full',
  ])
  expect(isOverloaded(overloaded('test_lane'))).toBe(true)
  expect(isOverloaded(unavailable('the storage is away', { reason: 'storage_unavailable' }))).toBe(false)
  expect(isOverloaded(new OAuthError('server_error', 'x', { reason: 'disk_full' }))).toBe(false)
})
