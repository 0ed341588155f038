// Emails and domains as they are compared.
import { describe, expect, test } from 'vitest'
import { asciiDomain, comparableEmail, domainOf } from '../../src/lib/email.ts'

describe('domains', () => {
  test.each([
    ['Example.COM', 'example.com'],
    ['münchen.example', 'xn--mnchen-3ya.example'],
    ['MÜNCHEN.Example', 'xn--mnchen-3ya.example'],
    ['mu\u0308nchen.example', 'xn--mnchen-3ya.example'],
    ['XN--MNCHEN-3YA.example', 'xn--mnchen-3ya.example'],
    ['straße.example', 'xn--strae-oqa.example'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai'],
    ['हिन्दी.भारत', 'xn--j2bd4cyah0f.xn--h2brj9c'],
    ['a_b.münchen', 'a_b.xn--mnchen-3ya'],
    ['ｅｘａｍｐｌｅ。com', 'example.com'],
  ])('%j is compared as %j', (domain, expected) => {
    expect(asciiDomain(domain)).toBe(expected)
  })

  test.each([
    'ex%61mple.com',
    '127.1',
    '0x7f.1',
    'a b',
    '',
    '[1.2.3.4]',
    'ü%2e.com',
    'ü/evil',
    'ü@evil',
    'ü:80',
    'ü?x',
    'ü／a.example',
    'ü.1',
  ])('a text that a parser of URLs would change in another way stays: %j', (text) => {
    expect(asciiDomain(text)).toBe(text)
  })
})

describe('addresses', () => {
  test.each([
    ['Ada@Example.com', 'ada@example.com'],
    ['Ada@MÜNCHEN.example', 'ada@xn--mnchen-3ya.example'],
    ['José@example.com', 'josé@example.com'],
    ['JOSE\u0301@example.com', 'josé@example.com'],
    ['用户@例子.广告', '用户@xn--fsqu00a.xn--4rr70v'],
    ['a@b@münchen.example', 'a@b@xn--mnchen-3ya.example'],
    ['no domain ü', 'no domain ü'],
    ['a@XN--bar-.example', 'a@xn--bar-.example'],
    ['a@mxn--nchen-jva.example', 'a@mxn--nchen-jva.example'],
  ])('%j is compared as %j', (email, expected) => {
    expect(comparableEmail(email)).toBe(expected)
    expect(comparableEmail(expected)).toBe(expected)
  })

  test('the domain is what follows the last at sign', () => {
    expect(['a@b@c.example', 'a'].map(domainOf)).toEqual(['c.example', 'a'])
  })
})
