// Waiting for so long at most.
import { expect, test } from 'vitest'
import { withTimeout } from '../../src/lib/timeout.ts'

const never = new Promise<never>(() => {})

test('waits for work, and no longer than it may', async () => {
  await expect(withTimeout(60_000, Promise.resolve())).resolves.toBeUndefined()
  await expect(withTimeout(1, never)).resolves.toBeUndefined()
})

test('work that fails in time rejects', async () => {
  await expect(withTimeout(60_000, Promise.reject(new Error('away')))).rejects.toThrow('away')
})
