import { expect, test } from 'vitest'
import { KnownTokens } from '../../src/crypto/known_tokens.ts'

const NOW = 1_800_000_000

/** The number of verifications of a signature, and their result. */
function verifier(isRight: boolean) {
  const calls = { count: 0 }
  const verify = async () => {
    calls.count++
    return isRight
  }
  return { calls, verify }
}

test('a valid signature is verified once, a wrong one each time', async () => {
  const known = new KnownTokens()
  const right = verifier(true)
  for (let i = 0; i < 3; i++) expect(await known.isAuthentic('a.b.c', NOW, right.verify)).toBe(true)
  expect(right.calls.count).toBe(1)
  const wrong = verifier(false)
  for (let i = 0; i < 3; i++) expect(await known.isAuthentic('a.b.d', NOW, wrong.verify)).toBe(false)
  expect(wrong.calls.count).toBe(3)
})

test('signed tokens are cached from the first lookup on, until there is no lookup for a minute', async () => {
  const known = new KnownTokens()
  const { calls, verify } = verifier(true)
  known.signed('before', NOW)
  await known.isAuthentic('before', NOW, verify)
  expect(calls.count).toBe(1)
  known.signed('while asked', NOW + 60)
  await known.isAuthentic('while asked', NOW + 60, verify)
  expect(calls.count).toBe(1)
  known.signed('in the quiet', NOW + 121)
  await known.isAuthentic('in the quiet', NOW + 121, verify)
  expect(calls.count).toBe(2)
})

test('a cached token does not validate another token', async () => {
  const known = new KnownTokens()
  const { verify } = verifier(false)
  await known.isAuthentic('x', NOW, verify)
  known.signed('a.b.c', NOW)
  for (const other of ['a.b.C', 'a.b.c ', 'A.b.c', 'a.b.', ''])
    expect(await known.isAuthentic(other, NOW, verify)).toBe(false)
  expect(await known.isAuthentic('a.b.c', NOW, verify)).toBe(true)
})
