// The form of results, for every tool: nothing is larger than 25 KB, and every text that is not declared as the service's own is marked.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { own } from '../../src/admin/answers/own_words.ts'
import { adminResources } from '../../src/admin/index.ts'
import { unavailable } from '../../src/lib/error.ts'
import { REASONS } from '../../src/lib/reasons/index.ts'
import { refusalOf } from '../../src/mcp/call.ts'
import { present } from '../../src/mcp/result.ts'
import { type ObjectSchema, type SchemaPart, wordSchema } from '../../src/mcp/schema.ts'
import { toolsOf } from '../../src/mcp/tools.ts'
import { isWithin, NEEDLE, placesOf } from '../support/injections.ts'

const tools = toolsOf(adminResources).map((tool) => [tool.name, tool] as const)

/** How large the parts of a made value are. */
interface Size {
  text: string
  items: number
}
/** A value of a schema with a text in every place where one may be. */
function valueFor(schema: SchemaPart | undefined, size: Size): unknown {
  if (schema?.anyOf) return valueFor(schema.anyOf[0], size)
  if (schema?.const !== undefined) return schema.const
  if (schema?.enum) return schema.enum[0]
  if (schema?.format === 'date-time') return '2026-03-01T10:00:00Z'
  if (schema?.own && schema.type === 'string') return 'own_word'
  if (schema?.type === 'boolean') return true
  if (schema?.type === 'integer' || schema?.type === 'number') return Number.MAX_SAFE_INTEGER
  if (schema?.type === 'array') return Array.from({ length: size.items }, () => valueFor(schema.items, size))
  if (schema?.properties)
    return Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, valueFor(each, size)]))
  if (schema?.type !== 'object') return size.text
  const { additionalProperties: rest } = schema
  const names = schema.own ? ['one', 'two'] : Array.from({ length: size.items }, (_, i) => `${i} ${size.text}`)
  return Object.fromEntries(names.map((name) => [name, valueFor(typeof rest === 'object' ? rest : undefined, size)]))
}
/** A result as a tool would make it: from_outside and shortened are added to it. */
function resultOf(words: ObjectSchema, size: Size): Record<string, unknown> {
  const { from_outside: _, shortened: _also, ...properties } = words.properties
  return valueFor({ ...words, properties }, size) as Record<string, unknown>
}
test('no two tools have the same name', () => {
  const names = tools.map(([name]) => name)
  expect(names).toEqual([...new Set(names)])
})

const bytesOf = (value: object) => Buffer.byteLength(JSON.stringify(value))

test.each(tools)(
  '%s: every text is marked that is not declared as the own words of the service',
  (_name, { words }) => {
    const shown = present(resultOf(words, { text: NEEDLE, items: 1 }), words)
    const { from_outside = [], ...rest } = shown as { from_outside?: string[] }
    expect(placesOf(rest).filter((place) => !isWithin(from_outside, place))).toEqual([])
    expect(shown['shortened']).toBeUndefined()
  },
)

test.each(tools)('%s: a result fits into 25 KB, whatever is in it, and has its required members', (_name, tool) => {
  for (const text of ['x'.repeat(3000), '\u{1f600}'.repeat(500), '"\\\n'.repeat(300), '\u200b'.repeat(300)])
    for (const items of [1, 4]) {
      const shown = present(resultOf(tool.words, { text, items }), tool.words)
      expect(bytesOf(shown)).toBeLessThanOrEqual(25_600)
      expect(Object.keys(shown)).toEqual(expect.arrayContaining(tool.listed.outputSchema.required ?? []))
      expect(JSON.stringify(shown)).toBe(JSON.stringify(shown).toWellFormed())
    }
})

test('many short members that no schema declares fit too', () => {
  const words = wordSchema(z.strictObject({ id: own(), document: z.record(z.string(), z.unknown()) })) as ObjectSchema
  const deep = (levels: number): object =>
    levels === 0 ? {} : Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`member${i}`, deep(levels - 1)]))
  const shown = present({ id: 'own', document: deep(5) }, words)
  expect(bytesOf(shown)).toBeLessThanOrEqual(25_600)
  expect(shown).toMatchObject({ id: 'own', shortened: true, from_outside: ['document'] })
  expect(Object.keys(shown['document'] as object).length).toBeGreaterThan(0)
})

test('from_outside names every member, and is never cut', () => {
  const names = Array.from({ length: 60 }, (_, i) => `member_${i}`)
  const words = wordSchema(z.strictObject(Object.fromEntries(names.map((name) => [name, z.string()])))) as ObjectSchema
  const texts = (text: string) => Object.fromEntries(names.map((name) => [name, text]))
  expect(present(texts('x'), words)['from_outside']).toEqual(names)
  expect(present(texts('x'.repeat(5000)), words)).toMatchObject({ from_outside: names, shortened: true })
})

test('a member that is not declared is left out, and a text that its enum does not list is marked', () => {
  const words = wordSchema(z.strictObject({ id: own(), kind: z.enum(['a', 'b']) })) as ObjectSchema
  expect(present({ id: '1', kind: 'a', more: NEEDLE }, words)).toEqual({ id: '1', kind: 'a' })
  expect(present({ id: '1', kind: NEEDLE }, words)).toEqual({ id: '1', kind: NEEDLE, from_outside: ['kind'] })
})

test('a refusal is marked, cleaned and cut like a result', () => {
  const refusal = refusalOf(unavailable(`no server answers at \u202e${NEEDLE}\u{e0041}${'\u200b'.repeat(1900)}`))
  expect(refusal).toMatchObject({ error: 'temporarily_unavailable', from_outside: ['error_description'] })
  expect(refusal['error_description']).toMatch(/^no server answers at <U\+202E>INJECTED<U\+E0041><U\+200B>/)
  expect(bytesOf(refusal)).toBeLessThanOrEqual(25_600)
})

test('every tool that the table of reasons names is a tool', () => {
  const named = Object.values<readonly (readonly string[])[]>(REASONS).flatMap((rows) =>
    rows.flatMap((row) => row[3] ?? []),
  )
  expect(named.length).toBeGreaterThan(50)
  const known = new Set<string>(tools.map(([name]) => name))
  expect(named.filter((name) => !known.has(name))).toEqual([])
})
