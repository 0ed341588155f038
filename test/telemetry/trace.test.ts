// The traceparent header, as W3C Trace Context has it.
import { describe, expect, test } from 'vitest'
import { formatTraceparent, parseTraceparent } from '../../src/telemetry/trace.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('parsing a traceparent', () => {
  test.each([
    ['01', true],
    ['00', false],
    ['03', true],
    ['fe', false],
  ])('the flags %s give sampled %s', (flags, sampled) => {
    expect(parseTraceparent(`00-${ID}-${SPAN}-${flags}`)).toEqual({ trace_id: ID, span_id: SPAN, sampled })
  })
  test('a later version may have further fields after the flags', () => {
    expect(parseTraceparent(`cc-${ID}-${SPAN}-01-what-comes`)?.trace_id).toBe(ID)
  })
})

test.each([
  ['no value', undefined],
  ['empty text', ''],
  ['version ff', `ff-${ID}-${SPAN}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span id of zeros', `00-${ID}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${ID.toUpperCase()}-${SPAN}-01`],
  ['more behind the flags of version 00', `00-${ID}-${SPAN}-01-x`],
  ['two headers', `00-${ID}-${SPAN}-01, 00-${ID}-${SPAN}-01`],
  ['a short id', `00-${ID.slice(1)}-${SPAN}-01`],
])('a traceparent with %s is ignored', (_, header) => expect(parseTraceparent(header)).toBeUndefined())

test('a formatted traceparent is parsed to the same values', () => {
  const parent = { trace_id: ID, span_id: SPAN, sampled: true }
  expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent)
})
