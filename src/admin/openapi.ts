// The OpenAPI 3.1 document of the admin API, made from the declarations of its operations.
import { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { isObject } from '../lib/json.ts'
import { type Action, type AdminResource, action, commandOf, neededFor, paramNames } from './action.ts'
import { job } from './answers/jobs.ts'
import * as answers from './answers/service.ts'
import { maxParam } from './perform.ts'

interface ObjectSchema {
  properties?: Readonly<Record<string, { description?: string; type?: string; enum?: unknown[] }>>
  required?: readonly string[]
}

const JSON_TYPE = 'application/json'
export const LICENSE = { name: 'Apache 2.0', identifier: 'Apache-2.0' }
/** One JSON value per line. */
export const LINES_TYPE = 'application/x-ndjson'
const PROBLEM = { $ref: '#/components/responses/Problem' }
const REFUSALS: Readonly<Record<string, string>> = {
  400: 'The input is not valid. error_description names every mistake.',
  401: 'The API key is missing or wrong.',
  403: 'The API key lacks the capability `x-capability`.',
}

/** The resources that the configuration enables. */
export const presentResources = (resources: readonly AdminResource[], config: Config): AdminResource[] =>
  resources.filter(({ enabled }) => enabled?.(config) ?? true)

/** The resource whose only operation shows the document of all operations. */
export const apiDocument = (resources: () => readonly AdminResource[]): AdminResource => ({
  name: 'api',
  doc: 'Description of the admin API.',
  actions: {
    document: action('GET /admin/openapi.json', {
      doc: 'Shows every operation of the admin API as an OpenAPI 3.1 document.',
      answer: answers.openApi,
      cli: false,
      run: async ({ config, build }) => ({ shown: openApiOf(presentResources(resources(), config), build.version) }),
    }),
  },
})

/** One tag for each name: several groups of operations can share a name and its description. */
const tagsOf = (resources: readonly AdminResource[]): object[] => [
  ...new Map(resources.map(({ name, doc }) => [name, { name, description: doc }])).values(),
]

/** Describes operations as OpenAPI 3.1. `x-command` is the command that does the same, `x-capability` is the capability that the caller needs, `x-audit` is the audit event, `x-form` arranges the form on the admin page. */
export function openApiOf(resources: readonly AdminResource[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const resource of resources) {
    for (const [word, each] of Object.entries(resource.actions)) {
      paths[each.path] = { ...paths[each.path], [each.method.toLowerCase()]: operationOf(resource, word, each) }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Admin API', version, license: LICENSE },
    security: [{ key: [] }],
    // Relative to the address of the document: a proxy may serve the API under another name.
    servers: [{ url: '/' }],
    tags: tagsOf(resources),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'admin.api_key, one of admin.api_keys, or a key of /admin/api-keys.',
        },
      },
      responses: { Problem: { description: 'A refusal.', content: PROBLEM_CONTENT } },
    },
  }
}

const problem = {
  description: 'The body of every refusal (RFC 9457, RFC 6749 §5.2).',
  type: 'object',
  required: ['error', 'error_description', 'status'],
  properties: {
    error: { type: 'string' },
    error_description: { type: 'string' },
    type: { type: 'string' },
    title: { type: 'string' },
    detail: { type: 'string' },
    status: { type: 'integer' },
    request_id: { type: 'string' },
  },
}

/** A refusal. It is sent as application/json to a caller that accepts nothing else. */
export const PROBLEM_CONTENT = { 'application/problem+json': { schema: problem }, [JSON_TYPE]: { schema: problem } }

/** `client.create` */
export const operationIdOf = ({ name }: AdminResource, word: string): string => `${name.replaceAll(' ', '.')}.${word}`

function operationOf(resource: AdminResource, word: string, each: Action): object {
  const command = commandOf(resource, word)
  const parameters = [
    ...paramNames(each.path).map((name) => ({ name, in: 'path', required: true, schema: pathSchema(name) })),
    ...queryOf(each),
  ]
  const { status, answer } = each
  const done = {
    description: 'Done.',
    ...(answer && { content: { [each.lines ? LINES_TYPE : JSON_TYPE]: { schema: outputSchema(answer) } } }),
  }
  const refusals = Object.entries(REFUSALS).map(([code, description]) => [code, { ...PROBLEM, description }])
  return {
    operationId: operationIdOf(resource, word),
    tags: [resource.name],
    summary: each.doc,
    ...(command ? { 'x-command': `service admin ${command}` } : {}),
    'x-capability': neededFor(each),
    ...(each.audit ? { 'x-audit': each.audit } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(each.body
      ? { requestBody: { required: !each.bodyOptional, content: { [JSON_TYPE]: { schema: inputSchema(each.body) } } } }
      : {}),
    ...(each.form ? { 'x-form': each.form } : {}),
    responses: {
      [status]: done,
      ...(each.long
        ? {
            202: {
              description:
                'It takes longer than 10 seconds, or than `Prefer: wait=` says in seconds: it continues as a job.',
              content: { [JSON_TYPE]: { schema: outputSchema(job) } },
            },
          }
        : {}),
      ...(each.dryRun ? { 200: { ...done, description: 'The request is valid.' } } : {}),
      ...Object.fromEntries(refusals),
      default: PROBLEM,
    },
  }
}

const pathSchema = (name: string) => ({ type: 'string', minLength: 1, maxLength: maxParam(name) })

function queryOf({ query }: Action): object[] {
  if (!query) return []
  const { properties = {}, required = [] } = inputSchema(query) as ObjectSchema
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description ? { description } : {}),
    // No query parameter may be empty.
    schema: { ...(schema.type === 'string' && !schema.enum ? { minLength: 1 } : {}), ...schema },
  }))
}

/** A JSON Schema without two forms that some readers do not take: an empty schema for members of any form, and a list of types. */
function portable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(portable)
  if (!isObject(schema)) return schema
  const parts = Object.entries(schema).map(([name, part]): [string, unknown] => {
    if (name === 'additionalProperties' && isObject(part) && Object.keys(part).length === 0) return [name, true]
    return name === 'type' && Array.isArray(part) ? ['anyOf', part.map((type) => ({ type }))] : [name, portable(part)]
  })
  return Object.fromEntries(parts)
}

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): object => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  // zod joins types into a list after its own overrides.
  return portable(rest) as object
}
/** The JSON Schema of an answer. */
export const outputSchema = (schema: z.ZodType): object => schemaOf(schema, 'output')
/** The JSON Schema of an input. */
export const inputSchema = (schema: z.ZodType): object => schemaOf(schema, 'input')
