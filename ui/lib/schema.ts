// The description of the admin API (its OpenAPI document). Forms and examples are generated from it.
import type { FormRules } from '../../src/admin/forms/form.ts'
import { get } from './api.ts'

export interface JsonSchema {
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  enum?: string[]
  anyOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  /** An empty text is null. */
  nullable?: true
}
export interface Operation {
  id: string
  method: string
  path: string
  /** The command that does the same. */
  command?: string
  /** The command also takes the whole item as JSON from standard input. */
  creates: boolean
  query: Record<string, JsonSchema>
  body?: JsonSchema
  /** How the form of the body is arranged. */
  form: FormRules
}
interface RawOperation {
  operationId: string
  'x-command'?: string
  'x-form'?: FormRules
  parameters?: { name: string; in: string; schema: JsonSchema; description?: string }[]
  requestBody?: { content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, unknown>
}
type ApiOperations = ReadonlyMap<string, Operation>

let known: Promise<ApiOperations> | undefined

/** Every operation that the configuration of the server enables, by its id such as `client.create`. Read once. */
export function operations(): Promise<ApiOperations> {
  known ??= readOperations().catch((error) => {
    known = undefined
    throw error
  })
  return known
}
/** Discards the operations, because the next server may be another one. */
export const forgetOperations = (): void => {
  known = undefined
}

async function readOperations(): Promise<ApiOperations> {
  const { paths } = await get<{ paths: Record<string, Record<string, RawOperation>> }>('/admin/openapi.json')
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => asOperation(method.toUpperCase(), path, raw)),
  )
  return new Map(all.map((each) => [each.id, each]))
}

function asOperation(method: string, path: string, raw: RawOperation): Operation {
  const query = (raw.parameters ?? []).filter((each) => each.in === 'query')
  return {
    id: raw.operationId,
    method,
    path,
    command: raw['x-command'],
    creates: '201' in raw.responses,
    query: Object.fromEntries(query.map((each) => [each.name, { ...each.schema, description: each.description }])),
    body: withoutNull(raw.requestBody?.content['application/json'].schema),
    form: raw['x-form'] ?? { fields: {} },
  }
}

/** A schema whose optional values are drawn like required ones: an empty field is null. Lists keep their null. */
function withoutNull<S extends JsonSchema | undefined>(schema: S): S {
  if (!schema) return schema
  const { anyOf = [], ...rest } = schema
  const [inner, ...others] = anyOf.filter(({ type }) => type !== 'null')
  const isOptional = inner && others.length === 0 && OPTIONAL.includes(String(inner.type))
  const plain: JsonSchema = isOptional ? { ...inner, ...rest, nullable: true } : schema
  const { properties } = plain
  if (!properties) return plain as S
  const members = Object.entries(properties).map(([name, member]) => [name, withoutNull(member)])
  return { ...plain, properties: Object.fromEntries(members) } as S
}
const OPTIONAL = ['object', 'number', 'integer', 'string', 'boolean']

/** Quotes for a POSIX shell. */
export const quotedArgument = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** The same call with curl. The key is a variable, so that the history of the shell does not contain it. */
export function curlOf(method: string, path: string, body?: unknown): string {
  const lines = [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quotedArgument(window.location.origin + path)}`,
    `  -H "Authorization: Bearer $SERVICE_ADMIN_API_KEY"`,
  ]
  if (body !== undefined)
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quotedArgument(JSON.stringify(body))}`)
  return lines.join(' \\\n')
}

/** The same call with the command line, for commands that read the item from standard input. */
export const commandLineOf = (command: string, body: unknown): string =>
  `printf %s ${quotedArgument(JSON.stringify(body))} |\n  ${command} -`
