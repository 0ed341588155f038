import { expect, test } from 'vitest'
import { notStale, retryStale } from '../../src/store/stale.ts'
import { refusalOf } from '../support/thrown.ts'

test('a write that another write overtook is decided again', async () => {
  const outcomes = ['stale', 'stale', 'written'] as const
  let attempts = 0
  expect(await retryStale(async () => notStale(outcomes[attempts++]))).toBe('written')
  expect(attempts).toBe(3)
})

test('after several stale writes the operation fails with a conflict', async () => {
  let attempts = 0
  const refusal = await refusalOf(() =>
    retryStale(async () => {
      attempts++
      return notStale('stale')
    }),
  )
  expect([refusal.status, refusal.reason, attempts]).toEqual([409, 'stale', 5])
})

test('a refusal by the operation itself is not retried', async () => {
  let attempts = 0
  const attempt = async () => {
    attempts++
    throw new Error('refused')
  }
  await expect(retryStale(attempt)).rejects.toThrow('refused')
  expect(attempts).toBe(1)
})
