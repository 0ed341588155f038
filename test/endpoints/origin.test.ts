// Which requests come from a page of another origin.
import { expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import { isForeign } from '../../src/endpoints/origin.ts'
import { head } from '../support/head.ts'

const app = { config: { server: { issuer: 'https://auth.example.com/tenant' } } } as unknown as App
const judge = (headers: Record<string, string>) => isForeign(app, head({ headers }))

test('Sec-Fetch-Site decides where a browser sends it', () => {
  for (const site of ['cross-site', 'same-site'])
    expect(judge({ 'sec-fetch-site': site, origin: 'https://auth.example.com' })).toBe(true)
  for (const site of ['same-origin', 'none']) expect(judge({ 'sec-fetch-site': site })).toBe(false)
})

test('without it, Origin must be that of the issuer', () => {
  for (const origin of [
    'https://evil.example',
    'https://auth.example.com.evil.example',
    'https://auth.example.com:8443',
    'http://auth.example.com',
    'https://auth.example.com, https://evil.example',
    'auth.example.com',
  ])
    expect(judge({ origin }), origin).toBe(true)
  expect(judge({ origin: 'https://auth.example.com' })).toBe(false)
})

test('a request without Origin, or with null, is not refused: the forms of this service have no referrer', () => {
  expect([judge({}), judge({ origin: 'null' })]).toEqual([false, false])
})

test('under another name of the listener, Origin must have that name', () => {
  const host = 'Login.internal:9000'
  expect(judge({ host, origin: 'https://login.internal:9000' })).toBe(false)
  expect(judge({ host, origin: 'https://auth.example.com' })).toBe(false)
  for (const origin of ['https://login.internal', 'https://evil.example', 'https://'])
    expect(judge({ host, origin })).toBe(true)
})
