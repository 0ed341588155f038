// Patterns with `*`: the matched text, and separators that are never crossed.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { glob, globParts } from '../../src/lib/glob.ts'

const REPOSITORY = 'repo:acme/*:ref:refs/heads/release-*.x'

describe('globParts', () => {
  test.each([
    ['system:serviceaccount:prod:mailer', 'system:serviceaccount:prod:mailer'],
    ['system:serviceaccount:prod:*', 'system:serviceaccount:prod:mailer'],
    [REPOSITORY, 'repo:acme/tools:ref:refs/heads/release-1.x'],
    ['spiffe://prod.example.org/ns/*/sa/*', 'spiffe://prod.example.org/ns/pay/sa/mailer'],
    ['*', 'mailer'],
    ['a*b*c', 'a1b2c'],
    ['', ''],
  ])('%s matches %s', (pattern, text) => {
    expect(globParts(pattern, text)).toBe(true)
  })

  test.each([
    [REPOSITORY, 'repo:acme/tools/more:ref:refs/heads/release-1.x'],
    [REPOSITORY, 'repo:acme/tools:environment:ref:refs/heads/release-1.x'],
    [REPOSITORY, 'repo:acme/tools:ref:refs/heads/release-1/2.x'],
    [REPOSITORY, 'repo:acme/tools:ref:refs/heads/release-1_x'],
    [REPOSITORY, 'repo:acme/tools:ref:refs/heads/release-1.x:more'],
    [REPOSITORY, 'repo:acme/tools/ref:refs:heads/release-1.x'],
    ['system:serviceaccount:prod:*', 'system:serviceaccount:prod:'],
    ['system:serviceaccount:prod:*', 'system:serviceaccount:prod:mailer/x'],
    ['system:serviceaccount:prod:mailer', 'system:serviceaccount:prod:mailer2'],
    ['system:serviceaccount:prod:mailer', 'SYSTEM:serviceaccount:prod:mailer'],
    ['a.c', 'abc'],
    ['a?c', 'abc'],
    ['[a-c]', 'b'],
    ['a*b*c', 'abc'],
    ['a*a', 'a'],
    ['*', ''],
    ['*', 'a:b'],
  ])('%s does not match %s', (pattern, text) => {
    expect(globParts(pattern, text)).toBe(false)
  })

  test('a text without * matches only itself', () => {
    const plain = fc.string().filter((text) => !text.includes('*'))
    fc.assert(fc.property(plain, fc.string(), (pattern, text) => globParts(pattern, text) === (pattern === text)))
  })

  test('replacing a part without separators by * matches the original text', () => {
    const part = fc.stringMatching(/^[a-z.*-]{1,8}$/)
    const parts = fc.array(part, { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(parts, fc.nat(), fc.constantFrom(':', '/'), (texts, index, separator) => {
        const at = index % texts.length
        const pattern = texts.map((text, i) => (i === at ? '*' : text.replaceAll('*', '-'))).join(separator)
        const text = texts.map((each, i) => (i === at ? each : each.replaceAll('*', '-'))).join(separator)
        return globParts(pattern, text) && !globParts(pattern, `${text}${separator}x`)
      }),
    )
  })
})

test('the last literal of a pattern is not consumed by an earlier *', () => {
  expect(glob('*a', 'aa')).toBe(true)
  expect(glob('*ab*ab', 'xabyab')).toBe(true)
  expect(glob('*ab*ab', 'xabab')).toBe(false)
})
