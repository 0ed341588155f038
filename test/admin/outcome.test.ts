import { expect, test } from 'vitest'
import { changedFields, retryStale } from '../../src/admin/outcome.ts'
import { refusalOf } from '../support/thrown.ts'

test('a write on a stale version is retried', async () => {
  const outcomes = ['stale', 'stale', 'written'] as const
  let attempts = 0
  expect(await retryStale(async () => outcomes[attempts++] ?? 'stale')).toBe('written')
  expect(attempts).toBe(3)
})

test('after several stale writes the operation fails with a conflict', async () => {
  const refusal = await refusalOf(() => retryStale(async () => 'stale'))
  expect([refusal.status, refusal.reason]).toEqual([409, 'stale'])
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

test('changedMembers names the members of a patch whose content differs', () => {
  const stored = { name: 'a', list: ['x', 'y'], flag: false, gone: undefined }
  expect(changedFields(stored, { name: 'a', list: ['x', 'y'], flag: false })).toEqual([])
  expect(changedFields(stored, { name: 'b', list: ['y', 'x'], flag: true, gone: undefined })).toEqual([
    'name',
    'list',
    'flag',
  ])
})
