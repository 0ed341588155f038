import { expect, test } from 'vitest'
import { compact, counted } from '../../ui/lib/format.ts'

test.each([
  [counted(1, 'user'), '1 user'],
  [counted(0, 'user'), '0 users'],
  [counted(1234, 'user'), '1,234 users'],
  [counted(12_345, 'user', 'users', compact), '12.3K users'],
  [counted(2, 'address', 'addresses'), '2 addresses'],
])('a count is written with its word: %s', (said, text) => {
  expect(said).toBe(text)
})
