// The tables of docs/security, which rest on the titles of tests.
import { expect, test } from 'vitest'
import { ATTACK_REASONS } from '../../tools/security/attack_reasons.ts'
import { renderAttacks } from '../../tools/security/attacks.ts'
import { testTitles } from '../../tools/security/titles.ts'

test('a title is found however its test is written', () => {
  const titles = testTitles().filter(({ file }) => file === 'test/tools/security.test.ts')
  const found = titles.map(({ title }) => title)
  expect(found).toEqual([
    'a title is found however its test is written',
    'from a table over several lines: %s',
    'from a table on one line: %s',
    'every row of the attack list has a test or a reason',
  ])
})

test.each([
  ['one', 1],
  ['two', 2],
])('from a table over several lines: %s', (_word, number) => expect(number).toBeGreaterThan(0))
test.each([1, 2])('from a table on one line: %s', (number) => expect(number).toBeGreaterThan(0))

test('every row of the attack list has a test or a reason', () => {
  const lines = renderAttacks()
    .split('\n')
    .filter((line) => /^\| [A-R]\d\d /.test(line))
  expect(lines.length).toBe(194)
  for (const line of lines) expect(line).toMatch(/\]\(\.\.\/\.\.\/test\/|none: \w/)
  for (const reason of Object.values(ATTACK_REASONS)) expect(reason.length).toBeGreaterThan(20)
})
