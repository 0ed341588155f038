// Error responses: RFC 9457 with the members of RFC 6749 §5.2.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asOAuthError, problem } from '../../src/http/problem.ts'
import { CODES, type ErrorCode, OAuthError } from '../../src/lib/error.ts'
import { head } from '../support/head.ts'

const bodyOf = (error: OAuthError) => JSON.parse(problem(error, head(), 'req-1').body as string)

describe('the body', () => {
  test('the body has the members of both documents, and the request id of the log line', () => {
    expect(bodyOf(new OAuthError('invalid_grant', 'the code is expired'))).toEqual({
      error: 'invalid_grant',
      error_description: 'the code is expired',
      type: 'about:blank',
      title: 'Bad Request',
      detail: 'the code is expired',
      status: 400,
      request_id: 'req-1',
    })
  })

  test('the body contains neither the reason nor the cause', () => {
    const error = new OAuthError('server_error', 'internal error', {
      reason: 'storage_unavailable',
      cause: new Error('c-1'),
    })
    const { body, headers } = problem(error, head())
    expect(JSON.stringify([body, headers])).not.toMatch(/storage_unavailable|c-1/)
  })

  test('the body has the further members of the error', () => {
    const error = new OAuthError('consent_required', 'x', { body: { consent_url: 'https://a.example/consent' } })
    expect(bodyOf(error).consent_url).toBe('https://a.example/consent')
  })

  test('a description has no character outside RFC 6749 §5.2', () => {
    expect(bodyOf(new OAuthError('invalid_request', 'a "b" \\ ä\n🎉')).error_description).toBe("a 'b' / ???")
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(bodyOf(new OAuthError('invalid_request', text)).error_description).toMatch(
          /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/,
        )
      }),
    )
  })
})

const typeFor = (accept: string | undefined, otherwise?: 'problem' | 'json') =>
  problem(new OAuthError('invalid_grant', 'x'), head({ headers: { accept } }), 'req-1', otherwise).headers[
    'content-type'
  ]

describe('the type at the admin API', () => {
  test.each([
    [undefined, 'application/problem+json'],
    ['*/*', 'application/problem+json'],
    ['text/html', 'application/problem+json'],
    ['application/problem+json', 'application/problem+json'],
    ['application/json', 'application/json'],
    ['application/json, text/plain', 'application/json'],
    ['application/json, application/problem+json', 'application/problem+json'],
    ['application/json, */*;q=0.1', 'application/problem+json'],
  ])('for a caller that accepts %s it is %s', (accept, type) => {
    expect(typeFor(accept)).toBe(type)
  })

  test('without a request the type is application/problem+json', () => {
    expect(problem(new OAuthError('server_error', 'x'), undefined).headers['content-type']).toBe(
      'application/problem+json',
    )
  })
})

describe('the type at the OAuth endpoints', () => {
  test.each([
    ['application/json'],
    ['Application/JSON; charset=utf-8'],
    ['application/json, text/plain, */*'],
    ['application/json, application/problem+json;q=0'],
  ])('a caller that accepts %s gets application/json', (accept) => {
    for (const otherwise of ['problem', 'json'] as const) expect(typeFor(accept, otherwise)).toBe('application/json')
  })

  test('a caller that accepts application/problem+json alone gets it', () => {
    for (const otherwise of ['problem', 'json'] as const)
      expect(typeFor('application/problem+json', otherwise)).toBe('application/problem+json')
  })

  test.each([
    undefined,
    '',
    '*/*',
    'application/*',
    'text/html',
    'application/json;q=0',
    'application/problem+json;q=0.5, application/json',
  ])('Accept: %s decides nothing', (accept) => {
    expect([typeFor(accept, 'problem'), typeFor(accept, 'json')]).toEqual([
      'application/problem+json',
      'application/json',
    ])
  })
})

describe('the headers', () => {
  const headersOf = (code: ErrorCode, more = {}) => problem(new OAuthError(code, 'x', more), head()).headers

  test('errors are not cached', () => {
    expect(headersOf('invalid_request')).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
  })

  test('every 401 and every DPoP error has a challenge, and no other error does', () => {
    for (const [code, { status }] of Object.entries(CODES)) {
      const challenge = headersOf(code as ErrorCode)['www-authenticate']
      if (code === 'use_dpop_nonce' || code === 'invalid_dpop_proof')
        expect(challenge, code).toBe(`DPoP error="${code}", algs="ES256 RS256 PS256"`)
      else if (code === 'unauthorized') expect(challenge, code).toBe('Bearer realm="admin"')
      else if (status === 401) expect(challenge, code).toBe('Basic realm="service", charset="UTF-8"')
      else expect(challenge, code).toBeUndefined()
    }
  })

  test('a client error at the authorize endpoint is 400 without a challenge', () => {
    expect(headersOf('invalid_client', { status: 400 })['www-authenticate']).toBeUndefined()
  })

  test('an error may have its own headers', () => {
    expect(headersOf('use_dpop_nonce', { headers: { 'dpop-nonce': 'n' } })['dpop-nonce']).toBe('n')
  })
})

test('any other thrown value becomes server_error without its cause', () => {
  const cause = new TypeError('x is not a function')
  const error = asOAuthError(cause)
  expect([error.code, error.status, error.cause]).toEqual(['server_error', 500, cause])
  expect(bodyOf(error).error_description).toBe('internal error')
  expect(asOAuthError('text').cause).toBe('text')
})

test('an OAuthError is not changed', () => {
  const error = new OAuthError('invalid_grant', 'x')
  expect(asOAuthError(error)).toBe(error)
})
