// The tables of docs/security, which rest on the titles of tests.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { renderAttacks } from '../../tools/security/attacks.ts'
import { renderConformance } from '../../tools/security/conformance.ts'
import { testTitles } from '../../tools/security/titles.ts'

test('a title is found in every form in which a test can be written', () => {
  const titles = testTitles().filter(({ file }) => file === 'test/tools/security.test.ts')
  const found = titles.map(({ title }) => title)
  expect(found).toEqual([
    'a title is found in every form in which a test can be written',
    'a title after a table over several lines is found: %s',
    'a title after a table on one line is found: %s',
    'every row of the attack list has a test',
    'every test and every file that the threat model and the failure modes name exists',
    'every requirement names its tests, and a known difference has a reason',
  ])
})

test.each([
  ['one', 1],
  ['two', 2],
])('a title after a table over several lines is found: %s', (_word, number) => expect(number).toBeGreaterThan(0))
test.each([1, 2])('a title after a table on one line is found: %s', (number) => expect(number).toBeGreaterThan(0))

test('every row of the attack list has a test', () => {
  const lines = renderAttacks()
    .split('\n')
    .filter((line) => /^\| [A-Z]\d\d /.test(line))
  const rows = readFileSync(path.join(packageRoot, 'tools/security/attack_rows.json'), 'utf8').matchAll(
    /"id": "(\w+)"/g,
  )
  expect(lines.map((line) => line.slice(2, 5)).sort()).toEqual([...rows].map(([, id]) => id).sort())
  for (const line of lines) expect(line).toMatch(/\]\(\.\.\/\.\.\/test\//)
})

const DOCS = ['docs/security/threat-model.md', 'docs/operate/failure-modes.md', 'docs/reliability.md', 'SECURITY.md']

test('every test and every file that the threat model and the failure modes name exists', () => {
  const rows = new Set(testTitles().flatMap(({ title }) => title.match(/\b[A-Z]\d\d\b/g) ?? []))
  for (const doc of DOCS) {
    const text = readFileSync(path.join(packageRoot, doc), 'utf8')
    for (const [id] of text.matchAll(/\b[A-Z]\d\d\b/g)) expect(rows, `${doc}: ${id}`).toContain(id)
    for (const [, to = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      expect(existsSync(path.join(packageRoot, path.dirname(doc), to)), `${doc}: ${to}`).toBe(true)
  }
})

test('every requirement names its tests, and a known difference has a reason', () => {
  const text = renderConformance()
  expect(text).toContain('## Open')
  for (const line of text.split('\n').filter((each) => /^\| (MUST|SHOULD|MAY)/.test(each)))
    expect(line).toContain('](../../test/')
})
