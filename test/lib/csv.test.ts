import { expect, test } from 'vitest'
import { readCsv } from '../../src/lib/csv.ts'

const read = (text: string) => [...readCsv(text)]

test('fields are separated by commas, records by any line break; empty lines are skipped and counted', () => {
  expect(read('a,b\r\n1,\n\n,2\rlast,"x"')).toEqual([
    { line: 1, cells: ['a', 'b'] },
    { line: 2, cells: ['1', ''] },
    { line: 4, cells: ['', '2'] },
    { line: 5, cells: ['last', 'x'] },
  ])
  expect(read('')).toEqual([])
  expect(read('a\n')).toEqual([{ line: 1, cells: ['a'] }])
})

test('a quoted field may have commas, quotes and line breaks, which are counted', () => {
  expect(read('"a,b","say ""hi""","two\nlines",""\nnext,x,y,z')).toEqual([
    { line: 1, cells: ['a,b', 'say "hi"', 'two\nlines', ''] },
    { line: 3, cells: ['next', 'x', 'y', 'z'] },
  ])
})

test.each([
  ['a quote that is not closed', 'a\n"b,c\nd', 2],
  ['text after a quoted field', 'a\n"b"c,d', 2],
])('reading fails at %s with the number of the line', (_what, text, line) => {
  expect(read(text).at(-1)).toMatchObject({ line, fault: expect.stringContaining('quote') })
})

test('a quote within an unquoted field is part of the field', () => {
  expect(read('5"3,x')).toEqual([{ line: 1, cells: ['5"3', 'x'] }])
})
