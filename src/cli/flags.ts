// The flags of an admin command, derived from the parameters, query and body of its operation.
import { z } from 'zod'
import { type Action, type AdminResource, type FlagRule, kebab, paramNames } from '../admin/action.ts'
import { DURATION_PATTERN } from '../lib/time.ts'
import { type FindId, itemNameOf, itemParamOf, lookupsOf, namedBy } from './lookup.ts'

export interface Flag {
  /** The name without the dashes. */
  name: string
  /** Whether it is a path parameter, a query parameter or a member of the body. */
  part: 'params' | 'query' | 'body'
  field: string
  /** A `switch` needs no value, a `list` is comma-separated, `many` may be repeated. */
  kind: 'text' | 'switch' | 'list' | 'many'
  /** The word for the value in the help text. */
  value: string
  doc: string
  required: boolean
  /** The default as text. */
  default?: string
  read?: FlagRule['read']
  secret: boolean
  /** The value is a file with a JSON object. */
  json: boolean
  /** The names of the flags of which only one may be given, because they name the same item. */
  either?: readonly string[]
  /** Finds the id that the field holds. Absent when the value is the id. */
  find?: FindId
}

interface Field {
  part: Flag['part']
  name: string
  required: boolean
  schema: JsonSchema
}
interface JsonSchema {
  type?: string
  enum?: unknown[]
  format?: string
  pattern?: string
  items?: JsonSchema
  anyOf?: JsonSchema[]
  default?: unknown
  description?: string
}

/** The flags of an operation, in the order of its fields; fields without a text form get none. */
export function flagsOf(action: Action): Flag[] {
  const { flags = {}, without = [] } = action.cli || {}
  const written = fieldsOf(action).flatMap((field) => {
    const rules = Object.entries(flags).filter(([, rule]) => rule.field === field.name)
    if (rules.length > 0) return rules.map(([name, rule]) => flagOf(field, name, rule, rules.length > 1))
    return without.includes(field.name) || !hasText(field.schema) ? [] : [flagOf(field, nameOf(field, action))]
  })
  const taken = written.map(({ name }) => name)
  return written.flatMap((flag) => withOthers(flag, action, taken))
}

/** The id of the item of an operation is --id, also where its parameter says of what: client_id. */
const nameOf = ({ part, name }: Field, action: Action): string =>
  part === 'params' && name.endsWith('_id') && itemParamOf(action) === name ? 'id' : kebab(name)

/** A flag with the id of an item, and the flags that name the same item in another way. */
function withOthers(flag: Flag, action: Action, taken: readonly string[]): Flag[] {
  const isListed = !(action.cli || undefined)?.unlisted
  const kind = isListed && flag.kind === 'text' && namedBy(action, flag.part, flag.field)
  const isItem = flag.part === 'params' && itemParamOf(action) === flag.field
  const lookups = (kind ? lookupsOf(kind) : []).map(({ name, ...rest }) => ({
    ...rest,
    name: isItem || !kind ? name : `${kind.name}-${name}`,
  }))
  const others = [...(isItem ? [{ name: 'id', doc: idDoc(kind || undefined) }] : []), ...lookups].filter(
    ({ name }) => !taken.includes(name),
  )
  if (others.length === 0) return [flag]
  const either = [flag.name, ...others.map(({ name }) => name)]
  const doc = flag.required ? `${flag.doc} Required, or ${dashed(either.slice(1))}.` : flag.doc
  const value = (name: string) => wordOf({}, name) ?? 'text'
  return [
    { ...flag, doc, either },
    ...others.map((other) => ({ ...flag, required: false, value: value(other.name), ...other, either })),
  ]
}

const idDoc = (kind: AdminResource | undefined): string => `Id of the ${kind ? itemNameOf(kind) : 'item'}.`

/** Names of flags as a sentence: `--id, --email or --name`. */
export const dashed = (names: readonly string[]): string => {
  const flags = names.map((name) => `--${name}`)
  return [flags.slice(0, -1).join(', '), flags.at(-1)].filter(Boolean).join(' or ')
}

const PLACEHOLDERS = { text: 'text', switch: 'true|false', list: 'a,b', many: 'text' } as const
/** Defaults that the help does not show. */
const SILENT = ['', 'false']

function flagOf({ part, name: field, required, schema }: Field, name: string, rule?: FlagRule, shared = false): Flag {
  const kind = rule?.read ? 'many' : schema.type === 'boolean' ? 'switch' : schema.type === 'array' ? 'list' : 'text'
  const fallback = String(schema.default ?? '')
  return {
    name,
    part,
    field,
    kind,
    value:
      rule?.value ?? choicesOf(schema) ?? (kind === 'text' ? wordOf(schema, field) : undefined) ?? PLACEHOLDERS[kind],
    doc: rule?.doc ?? schema.description ?? field,
    required: rule?.required ?? (required && !shared),
    default: SILENT.includes(fallback) ? undefined : fallback,
    read: rule?.read,
    secret: rule?.secret ?? false,
    json: rule?.json ?? false,
  }
}

/** The word for a value that has a form of its own: by its schema, or by the end of its name. */
function wordOf({ type, format, pattern }: JsonSchema, field: string): string | undefined {
  if (type === 'integer' || type === 'number') return 'number'
  if (pattern === DURATION_PATTERN) return 'duration'
  return (
    FORMAT_WORDS[format ?? ''] ?? NAME_WORDS.find((word) => field === word || new RegExp(`[_-]${word}$`).test(field))
  )
}
const FORMAT_WORDS: Readonly<Record<string, string>> = { uri: 'url', 'date-time': 'time' }
const NAME_WORDS = ['id', 'slug', 'email', 'name', 'uri', 'url']

/** The choices of a short list. Help would be unreadable with a long one. */
const choicesOf = ({ enum: choices }: JsonSchema) =>
  choices && choices.length <= MAX_CHOICES ? choices.join('|') : undefined
const MAX_CHOICES = 10

const hasText = ({ type, items }: JsonSchema) => type !== 'object' && !(type === 'array' && items?.type === 'object')

const PARAMS: Readonly<Record<string, string>> = {
  client_id: 'Id of the client (client_id).',
  kid: 'Id of the key (kid).',
  secret_id: 'Id of the secret.',
  slug: 'Slug or id of the resource.',
  source: 'Slug of the fronting resource (the gateway).',
  target: 'Slug of the resource behind the gateway.',
}

const idOf = (name: string) => `Id of the ${name.replace(/_id$/, '').replaceAll('_', ' ')}.`

function fieldsOf(action: Action): Field[] {
  const { path, query, body } = action
  const params = paramNames(path).map((name): Field => {
    return {
      part: 'params',
      name,
      required: true,
      schema: { description: PARAMS[name] ?? (name === 'id' ? idDoc(namedBy(action, 'params', name)) : idOf(name)) },
    }
  })
  return [...params, ...members('query', query), ...members('body', body)]
}

/** The schema of a value that may also be null: no flag is null, unless a rule says how. */
function withoutNull({ anyOf = [], ...rest }: JsonSchema): JsonSchema {
  const [inner, ...others] = anyOf.filter(({ type }) => type !== 'null')
  return inner && others.length === 0 ? { ...inner, ...rest } : rest
}

function members(part: 'query' | 'body', schema: z.ZodType | undefined): Field[] {
  if (!schema) return []
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, property]) => ({
    part,
    name,
    required: required.includes(name),
    schema: withoutNull(property as JsonSchema),
  }))
}
