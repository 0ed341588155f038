// The JSON Schemas of authorization details. Only operators declare them. Each is compiled once; ajv is loaded with the first one.
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Lru } from '../../lib/lru.ts'
import { MB } from '../../lib/memory.ts'
import type { AuthorizationDetail, DetailsType } from '../../records/authorization_details.ts'

/** Estimated bytes of a compiled schema for each character of its text: the code that ajv generates and what it closes over. */
const BYTES_PER_CHARACTER = 64

interface Compiled {
  text: string
  validate: ValidateFunction
}

/** Compiles schemas, and keeps those that are in use. */
export class DetailsSchemas {
  private readonly compiled = new Lru<Compiled>({
    max: 256,
    bytes: 32 * MB,
    sizeOf: ({ text }) => text.length * BYTES_PER_CHARACTER,
  })

  /** What is wrong with the schema of a type; undefined when it can be used. It never causes a request. */
  async problemOf(type: DetailsType): Promise<string | undefined> {
    try {
      await this.compile(type)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /** A check of the elements of a type. It returns the member that does not fit and what is wrong with it; undefined for an element that fits. */
  async checkOf(type: DetailsType): Promise<(element: AuthorizationDetail) => string | undefined> {
    const validate = await this.compile(type)
    return (element) => (validate(element) ? undefined : faultText(validate.errors?.[0]))
  }

  private async compile(type: DetailsType): Promise<ValidateFunction> {
    const text = JSON.stringify(type.schema)
    const known = this.compiled.get(text)
    if (known) return known.validate
    checkLists(type.schema)
    const [{ Ajv2020 }, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('re2js')])
    // Patterns that take linear time: those of JavaScript may take hours on 30 characters, and callers choose the text.
    const regExp = (pattern: string) => {
      const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
      // ajv tells patterns apart by their text.
      return { test: (text: string) => compiled.test(text), toString: () => pattern }
    }
    const code = { regExp: Object.assign(regExp, { code: 'regExp' }) }
    // An instance for each schema: two of them may have the same $id. Without loadSchema a $ref to elsewhere is an error.
    const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, validateFormats: false, code })
    const validate = ajv.compile(closed(type.schema))
    this.compiled.set(text, { text, validate })
    return validate
  }
}

/** Items whose pairs are compared quickly. */
const MAX_UNIQUE = 256

/** Throws for a list of unique items that may be long: each item is compared with all others. */
function checkLists(schema: unknown): void {
  if (schema === null || typeof schema !== 'object') return
  const { uniqueItems, maxItems } = schema as { uniqueItems?: unknown; maxItems?: unknown }
  if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= MAX_UNIQUE))
    throw new Error(`uniqueItems needs maxItems of at most ${MAX_UNIQUE}`)
  for (const part of Object.values(schema)) checkLists(part)
}

/** The schema with `type`, and without members that it does not know (RFC 9396 §5). */
const closed = (schema: DetailsType['schema']): object => ({
  unevaluatedProperties: false,
  ...schema,
  properties: { type: true, ...(schema['properties'] as object | undefined) },
})

function faultText(error: ErrorObject | undefined): string {
  const { instancePath = '', params = {}, keyword } = error ?? {}
  const { missingProperty, unevaluatedProperty, additionalProperty } = params as Record<string, string | undefined>
  const place = instancePath.replaceAll('/', '.')
  if (missingProperty !== undefined) return `${place}.${missingProperty} is missing`
  const unknown = unevaluatedProperty ?? additionalProperty
  if (unknown !== undefined) return `${place}.${unknown} is not known`
  return `${place} does not fit its type (${keyword})`
}
