// The small parts that operations are made of.
import { expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import {
  all,
  change,
  flag,
  idBytes,
  idText,
  maybeIdBytes,
  maybeIdText,
  maybeNum,
  maybeStr,
  one,
  orNull,
  where,
} from '../../src/store/op.ts'

test('an operation yields statements and receives their results', () => {
  const operation = (function* () {
    const row = yield* one('SELECT 1', 'a')
    const rows = yield* all('SELECT 2')
    return [row, rows, yield* change('DELETE', 1, null)]
  })()
  expect(operation.next().value).toEqual({ sql: 'SELECT 1', params: ['a'], want: 'one' })
  expect(operation.next({ x: 1 }).value).toEqual({ sql: 'SELECT 2', params: [], want: 'all' })
  expect(operation.next([]).value).toEqual({ sql: 'DELETE', params: [1, null], want: 'run' })
  expect(operation.next(3)).toEqual({ done: true, value: [{ x: 1 }, [], 3] })
})

test('conditions are joined with their parameters in order, and absent ones are left out', () => {
  expect(where(['a = ?', 1], undefined, ['(b = ? OR c = ?)', 'x', null])).toEqual({
    sql: 'WHERE a = ? AND (b = ? OR c = ?)',
    params: [1, 'x', null],
  })
  expect(where(undefined)).toEqual({ sql: '', params: [] })
})

test('an id is stored as 16 bytes and read back', () => {
  const id = newId()
  expect(idBytes(id).length).toBe(16)
  expect(idText(idBytes(id))).toBe(id)
})

test('an absent value is NULL in the database and undefined in code', () => {
  expect([maybeIdBytes(undefined), orNull(undefined)]).toEqual([null, null])
  expect([maybeStr(null), maybeNum(null), maybeIdText(null), maybeIdText(undefined)]).toEqual(Array(4).fill(undefined))
  expect([maybeStr(''), maybeNum(0), orNull(0), orNull('')]).toEqual(['', 0, 0, ''])
  expect([flag(1), flag(0), flag(null)]).toEqual([true, false, false])
})
