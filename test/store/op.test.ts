// The small parts that operations are made of.
import { expect, expectTypeOf, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import {
  all,
  change,
  exists,
  flag,
  idBytes,
  idText,
  listed,
  maybeIdBytes,
  maybeIdText,
  maybeNum,
  maybeStr,
  type Op,
  one,
  orNull,
  part,
  raw,
  type SqlText,
  type Statement,
  valuesOf,
  where,
} from '../../src/store/op.ts'

test('an operation yields statements and receives their results', () => {
  const operation = (function* () {
    const row = yield* one({ sql: 'SELECT 1', params: ['a'] })
    const rows = yield* all`SELECT 2`
    return [row, rows, yield* change`DELETE ${1} ${null}`]
  })()
  expect(operation.next().value).toEqual({ sql: 'SELECT 1', params: ['a'], want: 'one' })
  expect(operation.next({ x: 1 }).value).toEqual({ sql: 'SELECT 2', params: [], want: 'all' })
  expect(operation.next([]).value).toEqual({ sql: 'DELETE ? ?', params: [1, null], want: 'run' })
  expect(operation.next(3)).toEqual({ done: true, value: [{ x: 1 }, [], 3] })
})

test('a value in a template is a parameter, and a part stands where it was written with its own', () => {
  const statementOf = (op: Op<unknown>) => op.next().value as Statement
  const live = part`expires_at > ${7} AND ${raw('state')} = ${'on'}`
  const twice = all`SELECT ${raw('id, name')} FROM a WHERE x = ${'1; DROP TABLE a'} AND ${live} OR y IN ${listed(['p', 'q'])} AND ${live}`
  expect(statementOf(twice)).toEqual({
    sql: 'SELECT id, name FROM a WHERE x = ? AND expires_at > ? AND state = ? OR y IN (?, ?) AND expires_at > ? AND state = ?',
    params: ['1; DROP TABLE a', 7, 'on', 'p', 'q', 7, 'on'],
    want: 'all',
  })
  expect(statementOf(one`SELECT ${part`a ${part`b ${1} c`} ${2}`} ${3}`)).toMatchObject({
    sql: 'SELECT a b ? c ? ?',
    params: [1, 2, 3],
  })
  expect(statementOf(exists`a ${where(['x = ?', 1], undefined)} LIMIT ${2}`)).toMatchObject({
    sql: 'SELECT 1 AS found FROM a WHERE x = ? LIMIT ? LIMIT 1',
    params: [1, 2],
  })
  expect([
    listed([]).sql,
    valuesOf([
      [1, 'a'],
      [2, null],
    ]),
  ]).toEqual(['()', { sql: 'VALUES (?, ?), (?, ?)', params: [1, 'a', 2, null] }])
})

test('a text alone is not a statement: with parentheses around a template its values would be SQL', () => {
  expectTypeOf<string>().not.toExtend<SqlText>()
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
