// The JSON Schemas of tools, and what they say about the texts of a result: which ones only this service writes.
import { z } from 'zod'
import { ownWords } from '../admin/answers/own_words.ts'
import { isObject } from '../lib/json.ts'

/** A part of a JSON Schema of an object. */
export interface SchemaPart {
  type?: string
  description?: string
  default?: unknown
  maximum?: number
  format?: string
  enum?: readonly unknown[]
  const?: unknown
  properties?: Record<string, SchemaPart>
  required?: string[]
  additionalProperties?: SchemaPart | boolean
  items?: SchemaPart
  anyOf?: readonly SchemaPart[]
  /** Only this service writes it (admin/answers/own_words.ts). In the schemas of wordSchema() only. */
  own?: true
}

/** A schema of an object, as lists of tools contain it. */
export interface ObjectSchema extends SchemaPart {
  type: 'object'
  properties: Record<string, SchemaPart>
}

/** The JSON Schema of an answer, with the marks of the texts that only this service writes. */
export const wordSchema = (answer: z.ZodType): SchemaPart =>
  z.toJSONSchema(answer, { metadata: ownWords, unrepresentable: 'any' }) as SchemaPart

/** Whether only this service writes a text: it is marked, a time, or one of the texts that the schema lists. */
export const isOwnText = (schema: SchemaPart | undefined, text: string): boolean =>
  schema?.own === true ||
  schema?.format === 'date-time' ||
  schema?.const === text ||
  schema?.enum?.includes(text) === true

/** The branch of a union whose constants are those of the value. Undefined when that is not exactly one: nothing is known of the value then. */
export function branchOf(schema: SchemaPart | undefined, value: unknown): SchemaPart | undefined {
  if (!schema?.anyOf) return schema
  const fitting = schema.anyOf.filter(({ properties = {} }) =>
    Object.entries(properties).every(
      ([name, { const: constant }]) => constant === undefined || (isObject(value) && value[name] === constant),
    ),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}
