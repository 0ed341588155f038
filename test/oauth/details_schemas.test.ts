// The schemas of authorization details: callers choose what they are compared with, so that no pattern and no list may take long.
import { expect, test } from 'vitest'
import { DetailsSchemas } from '../../src/oauth/tokens/details_schemas.ts'

const schemas = new DetailsSchemas()
const typeOf = (properties: object) => ({ type: 'payment', description: '', display: [], schema: { properties } })
const faultOf = async (properties: object, element: object) =>
  (await schemas.checkOf(typeOf(properties)))({ type: 'payment', ...element })

test('two patterns of a schema are told apart, and have the syntax of JavaScript', async () => {
  const properties = { iban: { pattern: '^[A-Z]{2}\\d{2}$' }, name: { pattern: '^(?<first>\\u00e9+)\\p{L}*$' } }
  expect(await faultOf(properties, { iban: 'DE89', name: '\u00e9cole' })).toBeUndefined()
  expect(await faultOf(properties, { iban: '\u00e9cole', name: '\u00e9cole' })).toBe(
    '.iban does not fit its type (pattern)',
  )
  expect(await faultOf(properties, { iban: 'DE89', name: 'DE89' })).toBe('.name does not fit its type (pattern)')
})

// With the patterns of JavaScript this test would not end in the lifetime of its machine.
test('a pattern that would try every division of a text answers', async () => {
  expect(await faultOf({ name: { pattern: '^(a+)+$' } }, { name: `${'a'.repeat(8000)}!` })).toBe(
    '.name does not fit its type (pattern)',
  )
})

test.each([
  [{ name: { pattern: '^(?=a)b' } }, 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
  [{ list: { uniqueItems: true } }, 'uniqueItems needs maxItems of at most 256'],
  [{ list: { items: { uniqueItems: true, maxItems: 257 } } }, 'uniqueItems needs maxItems of at most 256'],
  [{ list: { uniqueItems: true, maxItems: 256 } }, undefined],
])('%j is declared, or refused with the reason', async (properties, problem) => {
  expect(await schemas.problemOf(typeOf(properties))).toBe(problem)
})
