import { expect, test } from 'vitest'
import { changedFields } from '../../src/admin/outcome.ts'

test('changedMembers names the members of a patch whose content differs', () => {
  const stored = { name: 'a', list: ['x', 'y'], flag: false, gone: undefined }
  expect(changedFields(stored, { name: 'a', list: ['x', 'y'], flag: false })).toEqual([])
  expect(changedFields(stored, { name: 'b', list: ['y', 'x'], flag: true, gone: undefined })).toEqual([
    'name',
    'list',
    'flag',
  ])
})
