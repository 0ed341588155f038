// docs/operate/troubleshooting.md: every reason has a remedy.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'

/** Shorter texts name the fault again, or a list to read, and not what to do. */
const MIN_CHARACTERS = 30

test('every row has a remedy that can be carried out', () => {
  const text = readFileSync(path.join(packageRoot, 'docs/operate/troubleshooting.md'), 'utf8')
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (---|reason)/.test(line))
    .map((line) => line.slice(2, -2).split(' | '))
  expect(rows.length).toBeGreaterThan(70)
  for (const [reason, , remedy = '', ...more] of rows) {
    expect(more, reason).toEqual([])
    if (!/\]\(/.test(remedy)) expect(remedy.length, `${reason}: ${remedy}`).toBeGreaterThanOrEqual(MIN_CHARACTERS)
  }
})
