// Untrusted text in messages: truncation.
import { expect, test } from 'vitest'
import { clip, listProblems, ownCopy, quoteNames } from '../../src/lib/bounded.ts'
import { OAuthError } from '../../src/lib/error.ts'

test('a text is truncated to its length without splitting a character', () => {
  expect(clip('abcdef', 6)).toBe('abcdef')
  expect(clip('abcdefg', 6)).toBe('abc...')
  expect(clip('ab🎉cdefg', 6)).toBe('ab\ufffd...')
})

test('a copy equals the text, whatever it contains', () => {
  for (const text of ['', 'a', '世界 🎉', '\ud83c', '\0']) expect(ownCopy(text)).toBe(text)
})

test('ten problems are listed, and the others are counted', () => {
  const problems = Array.from({ length: 12 }, (_, i) => `p${i}`)
  expect(listProblems(problems.slice(0, 10))).toBe('p0; p1; p2; p3; p4; p5; p6; p7; p8; p9')
  expect(listProblems(problems.slice(0, 11))).toMatch(/p9; and 1 more problem$/)
  expect(listProblems(problems)).toMatch(/p9; and 2 more problems$/)
  expect(listProblems(Array(12).fill('x'.repeat(5000))).length).toBeLessThan(2100)
})

test('the list of names is truncated to 200 characters', () => {
  expect(quoteNames(['a', 'b'])).toBe('a b')
  expect(quoteNames(['a', 'b'], ', ')).toBe('a, b')
  expect(quoteNames(Array(100_000).fill('name'))).toHaveLength(200)
  expect(quoteNames(['x'.repeat(1_000_000)])).toHaveLength(200)
})

test('no description of an error is longer than 2 KB', () => {
  expect(new OAuthError('invalid_request', 'x'.repeat(3_000_000)).message).toHaveLength(2048)
})
