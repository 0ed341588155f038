import { expect, test } from 'vitest'
import { compact, quantity } from '../../ui/lib/format.ts'

test.each([
  [quantity(1, 'user'), '1 user'],
  [quantity(0, 'user'), '0 users'],
  [quantity(1234, 'user'), '1,234 users'],
  [quantity(12_345, 'user', 'users', compact), '12.3K users'],
  [quantity(2, 'address', 'addresses'), '2 addresses'],
])('a count is written with its word: %s', (said, text) => {
  expect(said).toBe(text)
})
