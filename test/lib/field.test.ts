// Field types of input: accepted values and error messages.
import { assert, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  bool,
  distinct,
  duration,
  float,
  int,
  issuesOf,
  jsonBool,
  list,
  name,
  resourceUri,
  scope,
  scopeName,
  slug,
  text,
  url,
  word,
} from '../../src/lib/field.ts'

type Row = [field: string, input: unknown, type: z.ZodType, output: unknown]
const accepted: Row[] = [
  ['text', '', text(), ''],
  ['text', 'Grüße, 世界 🎉', text(), 'Grüße, 世界 🎉'],
  ['name', ' a ', name(), ' a '],
  ['bool', true, bool(), true],
  ['bool', 'true', bool(), true],
  ['bool', '1', bool(), true],
  ['bool', 1, bool(), true],
  ['bool', 'false', bool(), false],
  ['bool', '0', bool(), false],
  ['bool', 0, bool(), false],
  ['int', -5, int(-5, 5), -5],
  ['int', '5', int(-5, 5), 5],
  ['int', '-1', int(-5, 5), -1],
  ['float', '0.25', float(0, 1), 0.25],
  ['float', 1, float(0, 1), 1],
  ['duration', '1h30m', duration(), 5400],
  ['word', 'b', word(['a', 'b']), 'b'],
  ['list', 'a, b ,,c', list(), ['a', 'b', 'c']],
  ['list', '', list(), []],
  ['list', ['a,b', ' c '], list(), ['a,b', ' c ']],
  ['distinct', ['b', 'a', 'b', 'B'], distinct(), ['b', 'a', 'B']],
  ['url', 'https://example.com/mcp', url(), 'https://example.com/mcp'],
  ['scopeName', 'files:read', scopeName(), 'files:read'],
  ['scope', ' a  b a ', scope(), 'a b'],
  ['scope', '', scope(), ''],
  ['slug', 'My-Files-2', slug(), 'my-files-2'],
]
test.each(accepted)('%s accepts %j', (_field, input, type, output) => {
  expect(type.parse(input)).toEqual(output)
})

const refused: [field: string, input: unknown, type: z.ZodType, message: RegExp][] = [
  ['text', 'a\nb', text(), /one line of plain text/],
  ['text', 'a\u0000b', text(), /one line of plain text/],
  ['text', 'a\u007fb', text(), /one line of plain text/],
  ['text', 'a\ud800', text(), /one line of plain text/],
  ['text', 'abcd', text(3), /^must have at most 3 characters$/],
  ['text', 5, text(), /^must be a string$/],
  ['name', '  ', name(), /must not be blank/],
  ['name', '\u200b\u2060\ufeff\u{e0041}', name(), /must not be blank/],
  ['name', '\u2800\u3164\u115f', name(), /must not be blank/],
  ['bool', 'yes', bool(), /must be true, false, 1 or 0/],
  ['bool', 2, bool(), /must be true, false, 1 or 0/],
  ['bool', 'TRUE', bool(), /must be true, false, 1 or 0/],
  ['jsonBool', 'true', jsonBool(), /^must be true or false$/],
  ['jsonBool', 0, jsonBool(), /^must be true or false$/],
  ['int', 'ten', int(1, 10), /must be a whole number/],
  ['int', '', int(1, 10), /must be a whole number/],
  ['int', ' 5', int(1, 10), /must be a whole number/],
  ['int', '0x5', int(1, 10), /must be a whole number/],
  ['int', 1.5, int(1, 10), /must be a whole number/],
  ['int', true, int(1, 10), /must be a whole number/],
  ['int', 0, int(1, 10), /must be at least 1/],
  ['int', '11', int(1, 10), /must be at most 10/],
  ['float', 'half', float(0, 1), /must be a number/],
  ['float', 1.01, float(0, 1), /must be at most 1/],
  ['float', -0.01, float(0, 1), /must be at least 0/],
  ['float', Number.NaN, float(0, 1), /must be a number/],
  ['float', Number.POSITIVE_INFINITY, float(0, 1), /must be/],
  ['duration', 'soon', duration(), /must be a duration such as 10s, 5m or 1h/],
  ['duration', 10, duration(), /must be a duration such as 10s, 5m or 1h/],
  ['duration', '59s', duration(60), /must be at least 1m/],
  ['duration', '1h', duration(0, 60), /must be at most 1m/],
  ['word', 'c', word(['a', 'b']), /must be one of a, b/],
  ['list', 5, list(), /must be a list/],
  ['list', { a: 1 }, list(), /must be a list/],
  ['distinct', 'a,b', distinct(), /must be a list/],
  ['distinct', ['a', 'a b'], distinct(scopeName()), /scope name/],
  ['url', 'example.com', url(), /must be a well-formed http or https URL/],
  ['url', 'ftp://example.com', url(), /must be a well-formed http or https URL/],
  ['scopeName', 'a b', scopeName(), /scope name/],
  ['scopeName', 'a"b', scopeName(), /scope name/],
  ['scopeName', 'a\\b', scopeName(), /scope name/],
  ['scopeName', '', scopeName(), /scope name/],
  ['scope', 'a\tb', scope(), /space-separated scope names/],
  ['scope', 'ä', scope(), /space-separated scope names/],
  ['slug', '-a', slug(), /must be 1 to 64 of/],
  ['slug', 'a_b', slug(), /must be 1 to 64 of/],
  ['slug', '', slug(), /must be 1 to 64 of/],
  ['slug', 'a'.repeat(65), slug(), /must be 1 to 64 of/],
]
test.each(refused)('%s refuses %j', (_field, input, type, message) => {
  const result = type.safeParse(input)
  expect(result.success).toBe(false)
  if (!result.success) expect(issuesOf(result.error)[0]?.message).toMatch(message)
})

describe('the URI of a resource', () => {
  test.each([
    'https://files.example.com/mcp?a=1',
    'kafka://broker.example.com:9092/orders',
    'urn:example:mcp:notes',
    'URN:example:a%2Fb',
  ])('%s', (uri) => {
    expect(resourceUri().parse(uri)).toBe(uri)
  })

  test.each([
    '',
    'notes',
    ':x',
    'urn:',
    '/mcp',
    '//h.example.com/mcp',
    'http:x',
    'https:///mcp',
    'https://h.example.com/mcp#x',
    'urn:example:a#x',
    'kafka://h.example.com/#',
    'urn:example:a b',
    ' urn:example:a',
    'urn:example:%zz',
    'urn:example:\u00e4',
    'kafka://user:secret@h.example.com/',
  ])('not %s', (uri) => {
    expect(resourceUri().safeParse(uri).success).toBe(false)
  })
})

describe('error messages of a schema', () => {
  const record = z.strictObject({ name: name(), scopes: z.array(z.strictObject({ name: scopeName() })).optional() })
  const issues = (input: unknown) => {
    const result = record.safeParse(input)
    return result.success ? [] : issuesOf(result.error)
  }

  test('a missing member is required', () => {
    expect(issues({})).toEqual([{ path: 'name', message: 'is required' }])
  })

  test('an error in a nested member has its path', () => {
    expect(issues({ name: 'x', scopes: [{ name: 'ok' }, { name: 'a b' }] })[0]?.path).toBe('scopes[1].name')
  })

  test('unknown members are named', () => {
    expect(issues({ name: 'x', colour: 1, size: 2 })).toEqual([
      { path: '', message: 'has unknown members: colour, size' },
    ])
  })

  test.each<[string, unknown, z.ZodType, string]>([
    ['a missing text', undefined, z.string(), 'is required'],
    ['a number as text', 'x', z.number(), 'must be a number'],
    ['a list that is an object', {}, z.array(z.string()), 'must be a list'],
    ['an object that is a list', [], z.record(z.string(), z.string()), 'must be an object'],
    ['null', null, z.strictObject({}), 'must be an object'],
    ['a long list', [1, 2], z.array(z.number()).max(1), 'must have at most 1 entries'],
    ['an empty text', '', z.string().min(1), 'must not be empty'],
    ['a short text', 'a', z.string().min(2), 'must have at least 2 characters'],
    ['a text of another length', 'a', z.string().length(2), 'must have exactly 2 characters'],
    ['a large number', 6, z.number().max(5), 'must be at most 5'],
    ['an unknown word', 'c', z.enum(['a', 'b']), 'must be one of a, b'],
    ['another value', 1, z.literal('a'), 'must be a'],
    ['a text that is no email', 'a', z.email(), 'does not have an allowed form'],
    ['a value of no branch', 1, z.union([z.string(), z.boolean()]), 'does not have an allowed form'],
    ['an uneven number', 3, z.number().multipleOf(2), 'must be a multiple of 2'],
  ])('%s is reported in plain words, not in those of the library', (_what, input, type, message) => {
    const result = type.safeParse(input)
    assert(result.error)
    expect(issuesOf(result.error)[0]?.message).toBe(message)
  })

  test('a member of another type is not reported as missing', () => {
    expect(issues({ name: 5 })[0]?.message).toMatch(/string/)
  })
})
