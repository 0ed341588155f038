// Rules of lists of private hosts: their forms, and what they match.
import { expect, test } from 'vitest'
import { hostRule, hostRules } from '../../src/lib/host_rule.ts'

test.each([
  ['GIT.Corp.Example', 'git.corp.example'],
  ['git.corp.', 'git.corp'],
  ['*.corp.example', '*.corp.example'],
  ['gitlab', 'gitlab'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['_dmarc.example', '_dmarc.example'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['fd00::/8', 'fd00::/8'],
  ['169.254.169.254', '169.254.169.254'],
])('%s is a rule', (text, rule) => {
  expect(hostRule(text)).toBe(rule)
})

test.each([
  ...['', '*', '*.', '*.*', '*.*.example', 'a.*.example', '*git.example', '.example', 'a..example', 'git.corp:8443'],
  ...[
    'https://git.corp',
    'git.corp/path',
    'user@git.corp',
    '10.0.0.0/33',
    '10.0.0',
    '127.1',
    '0x7f.1',
    'git corp',
    '[::1]',
  ],
])('I35 %s is no rule', (text) => {
  expect(hostRule(text)).toBeUndefined()
})

const names = (rule: string, hostname: string) => hostRules([rule]).names(hostname)

test('I32 a name matches as a whole, with or without the dot of the root', () => {
  expect(names('git.corp', 'git.corp')).toBe(true)
  expect(names('git.corp', 'git.corp.')).toBe(true)
  for (const other of ['git.corp.evil.example', 'evilgit.corp', 'a.git.corp', 'corp', 'git.cor'])
    expect(names('git.corp', other), other).toBe(false)
})

test('I32 a wildcard stands for one label', () => {
  expect(names('*.corp', 'git.corp')).toBe(true)
  for (const other of ['corp', 'a.git.corp', 'gitcorp', 'git.corp.evil.example', '.corp', 'git.xcorp'])
    expect(names('*.corp', other), other).toBe(false)
})

test('a range has the hosts that are addresses in it', () => {
  expect(names('10.0.0.0/8', '10.1.2.3')).toBe(true)
  expect(names('fd00::/8', '[fd00::1]')).toBe(true)
  for (const other of ['11.0.0.0', '10.corp', '[fe80::1]', 'ten']) expect(names('10.0.0.0/8', other), other).toBe(false)
})
