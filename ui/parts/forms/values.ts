// The value of a field as text, and back. The schema determines the control.
import type { JsonSchema } from '../../lib/schema.ts'

/** Values to choose from, each with its text. */
export type Pairs = readonly (readonly [value: string, text: string])[]

type Control =
  | 'text'
  | 'secret'
  | 'choice'
  | 'checks'
  | 'check'
  | 'number'
  | 'lines'
  | 'pairs'
  | 'members'
  | 'items'
  | 'json'

/** The control for a field. */
export function controlOf(name: string, schema: JsonSchema, options: unknown): Control {
  const { type, items, anyOf, additionalProperties: each } = schema
  if (options || schema.enum) return type === 'array' ? 'checks' : 'choice'
  if (type === 'boolean') return 'check'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array' && items?.properties) return 'items'
  if (type === 'array') return items?.type === undefined || items.type === 'string' || items.enum ? 'lines' : 'json'
  if (anyOf?.some((one) => one.type === 'array')) return 'lines'
  if (type === 'object' && schema.properties) return 'members'
  if (type === 'object' && typeof each === 'object' && each.type === 'string') return 'pairs'
  if (type === 'object' || anyOf?.some((one) => one.type === 'object')) return 'json'
  return /password|secret$/.test(name) ? 'secret' : 'text'
}
const isNullable = ({ anyOf }: JsonSchema) => anyOf?.some(({ type }) => type === 'null') ?? false

/** A stored value as the field shows it. */
export function writeText(schema: JsonSchema, value: unknown): string | boolean {
  if (schema.type === 'boolean') return value === true
  if (value === undefined || value === null) return ''
  const control = controlOf('', schema, undefined)
  if (control === 'lines') return (value as string[]).join('\n')
  if (control === 'pairs')
    return Object.entries(value as Record<string, string>)
      .map(([name, text]) => `${name}=${text}`)
      .join('\n')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** The value of the field as the API takes it. Throws for malformed JSON. */
export function readValue(schema: JsonSchema, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  const control = controlOf('', schema, undefined)
  if (control === 'lines') {
    const lines = linesOf(value)
    return lines.length === 0 && isNullable(schema) ? null : lines
  }
  if (control === 'pairs')
    return Object.fromEntries(
      linesOf(value).map((line) => {
        const [name = '', text = ''] = line.split(/\s*=\s*(.*)/s)
        return [name, text]
      }),
    )
  if (control === 'number') return value === '' ? null : Number(value)
  if (control !== 'json' && control !== 'members' && control !== 'items')
    return value || !schema.nullable ? value : null
  try {
    return JSON.parse(value || 'null')
  } catch (error) {
    throw new Error(`this is not JSON: ${(error as Error).message}`)
  }
}
