import { Command } from 'commander'
import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { kebab } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { openApiOf } from '../../src/admin/openapi.ts'
import { adminRoutes } from '../../src/admin/rest.ts'
import { addAdminCommands } from '../../src/cli/admin.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { type Input, inputFor } from '../support/operations.ts'
import { SEALED, startService, type TestService } from '../support/service.ts'
import { LOOPBACK } from '../support/xaa.ts'

interface Schema {
  type?: string
  enum?: unknown[]
  anyOf?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
}
interface Operation {
  operationId: string
  tags: string[]
  summary: string
  'x-command'?: string
  parameters?: { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { content?: Record<string, { schema?: Parameters<typeof z.fromJSONSchema>[0] }> }>
}
interface Document {
  openapi: string
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
}

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  )
const declared = openApiOf(adminResources, '1') as Document
const operations = operationsOf(declared).map((each) => [each.operationId, each] as const)
type Each = (typeof operations)[number][1]

let service: TestService
beforeAll(async () => {
  service = await startService({ ...LOOPBACK, ...SEALED })
  service.app.reload = async () => ({ applied: [], needs_restart: [] })
})
afterAll(() => service.close())

const call = ({ method, path, requestBody }: Each, { params = {}, query = {}, body = {} }: Input) => {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'nothing-here'))
  const sent = new URLSearchParams(query)
  return callAdmin<{ error: string; error_description: string }>(
    service,
    method,
    `${target}${sent.size > 0 ? `?${sent}` : ''}`,
    requestBody ? body : undefined,
  )
}
/** The status of a successful request that is not a dry run. */
const successOf = ({ responses }: Each) =>
  Number(
    Object.keys(responses)
      .filter((status) => status.startsWith('2') && status !== '202')
      .at(-1),
  )
const queryNames = ({ parameters = [] }: Each) => parameters.filter((each) => each.in === 'query')
/** The part of the generated input that the operation accepts. */
const inputOf = async (operation: Each): Promise<Input> => {
  const { query = {}, ...rest } = await inputFor(operation.operationId, service)
  const taken = queryNames(operation).map(({ name }) => name)
  return { ...rest, query: Object.fromEntries(Object.entries(query).filter(([name]) => taken.includes(name))) }
}

/** Values of another JSON type that look like the right one. A query has texts only. */
const LOOKALIKES: Readonly<Record<string, unknown[]>> = {
  boolean: [0, 1, 'true', 'false', ''],
  integer: ['1', 1.5, true],
  number: ['1', true],
  array: ['one', 'one,two'],
  string: [1, true],
}
/** JSON values that a member of this schema must refuse. */
const wrongFor = ({ type, enum: words, minimum, maximum, maxLength, anyOf }: Schema): unknown[] => [
  ...(words ? ['no-such-word'] : []),
  ...(minimum !== undefined && minimum > -1e9 ? [minimum - 1] : []),
  ...(maximum !== undefined && maximum < 1e12 ? [maximum + 1] : []),
  ...(maxLength !== undefined ? ['x'.repeat(maxLength + 1)] : []),
  ...(type === undefined && !words && !anyOf ? [] : [{ a: 1 }]),
]

test('the server returns the OpenAPI document of its operations, with its version', async () => {
  const shown = await okAdmin<Document & { info: { version: string } }>(service, 'GET', '/admin/openapi.json')
  expect([shown.openapi, shown.info.version]).toEqual(['3.1.0', service.app.build.version])
  expect(shown.paths).toEqual(JSON.parse(JSON.stringify(declared.paths)))
})

test('operations that are switched off are not in the OpenAPI document', async () => {
  const other = await startService({ SERVICE_XAA_ENABLED: 'false' })
  try {
    const shown = await okAdmin<Document>(other, 'GET', '/admin/openapi.json')
    expect(Object.keys(shown.paths).filter((path) => /idps|xaa/.test(path))).toEqual([])
    expect(Object.keys(shown.paths)).toContain('/admin/clients')
  } finally {
    await other.close()
  }
})

test('every tag is declared once, and the address of the server is that of the document', () => {
  const names = declared.tags.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
  expect(names).toEqual(expect.arrayContaining(operations.flatMap(([, { tags }]) => tags)))
  expect(declared.servers).toEqual([{ url: '/' }])
})

describe('the document states the form of a value', () => {
  const operation = (id: string) => operations.find(([each]) => each === id)?.[1]
  const parameter = (id: string, name: string) => operation(id)?.parameters?.find((each) => each.name === name)?.schema
  const member = (id: string, name: string) =>
    operation(id)?.requestBody?.content['application/json'].schema.properties?.[name]

  test.each([
    ['a time', parameter('audit.list', 'since'), { format: 'date-time' }],
    ['a time in a body', member('revocation.create', 'since'), { format: 'date-time' }],
    ['a URL', member('idp.create', 'issuer'), { format: 'uri' }],
    ['a URL of a patch', member('idp.update', 'jwks_uri'), { format: 'uri' }],
    [
      'a duration',
      parameter('issuance.list', 'since'),
      { pattern: expect.stringContaining('ms|s|m|h'), examples: ['10s', '5m', '1h'] },
    ],
    ['a name', member('idp.create', 'name'), { minLength: 1 }],
    ['a text', member('webhook.create', 'description'), { pattern: '^[^\\u0000-\\u001f\\u007f]*$' }],
    ['a scope', member('client.create', 'scope'), { pattern: '^[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*$' }],
    ['a slug', member('resource.create', 'slug'), { pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$' }],
    ['a password', member('user.create', 'password'), { minLength: 8 }],
    ['a list that must not be empty', member('webhook.create', 'events'), { minItems: 1 }],
    ['the id of a request', parameter('audit.list', 'request_id'), { pattern: '^[A-Za-z0-9_-]{21}[AQgw]$' }],
    ['a map', member('fronting.create', 'scope_map'), { minProperties: 1 }],
    ['a filter', parameter('user.list', 'email'), { minLength: 1 }],
    ['an id in a path', parameter('user.get', 'id'), { minLength: 1, maxLength: 256 }],
    ['the id of a client in a path', parameter('client.get', 'client_id'), { minLength: 1, maxLength: 2048 }],
  ])('%s', (_what, schema, expected) => {
    expect(schema).toMatchObject(expected)
  })

  test('the settings of a provider have one form for each protocol', () => {
    const { anyOf = [] } = member('provider.create', 'config_data') ?? {}
    expect(anyOf.map((each) => (each as Schema).required)).toEqual([
      expect.arrayContaining(['client_id', 'authorize_url']),
      ['header_name'],
      expect.arrayContaining(['sa_email']),
    ])
  })
})

test('a list that a body must have is required', () => {
  const [, create] = operations.find(([id]) => id === 'webhook.create') ?? []
  expect(create?.requestBody?.content['application/json'].schema.required).toEqual(['url', 'events'])
})

describe('REST, command line and document list the same operations', () => {
  test('the routes of the admin API and the listed operations are the same', () => {
    const routes = adminRoutes(service.app)
      .filter(({ path }) => !/^\/(|metrics|admin\/?|admin\/\{rest\.\.\.\}|admin\/ui.*)$/.test(path))
      .map(({ method, path }) => `${method} ${path}`)
    expect(routes.sort()).toEqual(operations.map(([, { method, path }]) => `${method} ${path}`).sort())
  })

  test('the admin commands and the commands of the operations are the same', () => {
    const program = new Command('service')
    addAdminCommands(program, {})
    const leaves = (command: Command, words: string): string[] =>
      command.commands.length > 0
        ? command.commands.flatMap((each) => leaves(each, `${words} ${each.name()}`))
        : [words]
    // Those of a part of an operation have no operation of their own.
    const ofParts = adminResources.flatMap(({ name, commands = {} }) =>
      Object.keys(commands).map((word) => `service admin ${name} ${kebab(word)}`),
    )
    const commands = [...operations.flatMap(([, operation]) => operation['x-command'] ?? []), ...ofParts]
    expect(leaves(program, 'service').sort()).toEqual(commands.sort())
  })

  test('every operationId is unique and every operation has a summary', () => {
    expect(new Set(operations.map(([id]) => id)).size).toBe(operations.length)
    for (const [id, { summary }] of operations) expect(summary, id).toMatch(/\.$/)
  })
})

describe.each(operations)('%s', (_id, operation) => {
  test('the operation accepts input that is valid by the document, and answers with the documented status', async () => {
    const input = await inputOf(operation)
    const answer = await call(operation, input)
    expect([answer.status, answer.body?.error_description]).toEqual([successOf(operation), undefined])
  })

  test('the answer matches the documented schema, without further members', async () => {
    const success = successOf(operation)
    const [content] = Object.values(operation.responses[success]?.content ?? {})
    if (success === 204) return expect(content).toBeUndefined()
    assert(content?.schema, 'the document says what is answered')
    const { body } = await call(operation, await inputOf(operation))
    const answers = operation.responses[success]?.content?.['application/x-ndjson']
      ? (body as unknown as string[]).map((line) => JSON.parse(line))
      : [body]
    const schema = z.fromJSONSchema(content.schema)
    for (const answer of answers)
      expect(schema.safeParse(answer).error?.issues ?? [], JSON.stringify(answer).slice(0, 500)).toEqual([])
  })

  test('a member that the schema does not define is refused by name', async () => {
    const input = await inputOf(operation)
    const { properties = {} } = operation.requestBody?.content['application/json'].schema ?? {}
    for (const [name, schema] of Object.entries(properties)) {
      for (const wrong of [...wrongFor(schema), ...(LOOKALIKES[schema.type ?? ''] ?? [])]) {
        const answer = await call(operation, { ...input, body: { ...input.body, [name]: wrong } })
        // Keys are read as those of a registration (RFC 7591 §3.2.2).
        const isKeySet = name === 'jwks' && typeof wrong === 'object'
        expect([answer.status, answer.body?.error], `${name}: ${JSON.stringify(wrong)?.slice(0, 60)}`).toEqual([
          400,
          isKeySet ? 'invalid_client_metadata' : 'invalid_request',
        ])
        expect(answer.body.error_description).toContain(name)
      }
    }
  })

  test('a body without a required member is refused by name', async () => {
    const input = await inputOf(operation)
    for (const name of operation.requestBody?.content['application/json'].schema.required ?? []) {
      const { [name]: _, ...body } = input.body ?? {}
      const answer = await call(operation, { ...input, body })
      expect([answer.status, answer.body?.error], name).toEqual([400, 'invalid_request'])
      expect(answer.body.error_description).toContain(name)
    }
  })

  test('a query parameter that the schema does not define is refused by name', async () => {
    const input = await inputOf(operation)
    for (const { name, schema } of queryNames(operation)) {
      for (const wrong of wrongFor(schema).filter((each) => typeof each !== 'object')) {
        const answer = await call(operation, { ...input, query: { ...input.query, [name]: String(wrong) } })
        expect([answer.status, answer.body?.error], `${name}=${String(wrong).slice(0, 60)}`).toEqual([
          400,
          'invalid_request',
        ])
        expect(answer.body.error_description).toContain(name)
      }
    }
  })
})
