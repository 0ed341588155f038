import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Action, paramNames } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { callAdmin } from '../support/admin.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'

const actions = adminResources.flatMap((resource) => Object.values(resource.actions))
const cases = actions.map((action): [string, Action] => [`${action.method} ${action.path}`, action])
const withParams = cases.filter(([, { path }]) => paramNames(path).length > 0)
const withBody = cases.filter(([, { body }]) => body !== undefined)

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const pathOf = ({ path }: Action, value = 'nothing-here') => path.replace(/\{\w+\}/g, value)

interface Members {
  properties?: Record<string, unknown>
  required?: string[]
}
const membersOf = (schema: z.ZodType | undefined): Members =>
  schema ? (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Members) : {}
/** A value with every required member; each member has the same text. */
const sampleOf = (schema: z.ZodType | undefined) =>
  Object.fromEntries((membersOf(schema).required ?? []).map((name) => [name, 'sample']))

const call = (action: Action, body: unknown = action.body && sampleOf(action.body), path = pathOf(action)) => {
  const query = new URLSearchParams(sampleOf(action.query))
  return callAdmin<{ error: string; error_description: string }>(service, action.method, `${path}?${query}`, body)
}

describe('the list of operations', () => {
  test('no method and path occurs twice', () => {
    expect(new Set(cases.map(([name]) => name)).size).toBe(cases.length)
  })

  test.each(cases)('%s has a summary of one line', (_name, { doc }) => {
    expect(doc).toMatch(/^[A-Z][^\n]*\.$/)
  })

  test.each(cases)(
    '%s is recorded in the audit trail if it writes or exports, and not if it reads',
    (_name, { method, path, audit, lines }) => {
      // Explain only reads; its question does not fit into a query.
      expect(audit === undefined).toBe(!lines && (method === 'GET' || path === '/admin/try/explain'))
    },
  )
})

describe.each(cases)('%s', (_name, action) => {
  test.each([
    ['no key', {}],
    ['a wrong key', { authorization: 'Bearer wrong' }],
    ['the beginning of the key', { authorization: `Bearer ${ADMIN_KEY.slice(0, -1)}` }],
    ['the key under another scheme', { authorization: `Basic ${ADMIN_KEY}` }],
    ['the scheme in lower case', { authorization: `bearer ${ADMIN_KEY}` }],
    ['an empty key', { authorization: 'Bearer ' }],
  ])('answers 401 to %s', async (_what, headers) => {
    const answer = await callAdmin(service, action.method, pathOf(action), undefined, headers)
    expect([answer.status, answer.body['error']]).toEqual([401, 'unauthorized'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="admin"')
  })

  test('a query parameter that the operation does not define is refused', async () => {
    const answer = await callAdmin(service, action.method, `${pathOf(action)}?bogus=1`, action.body && {})
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
    expect(answer.body['error_description']).toContain('bogus')
  })
})

describe.each(withParams)('%s', (_name, action) => {
  test('an id that does not exist is answered with 404', async () => {
    const answer = await call(action)
    expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
  })

  test('an id that is too long is answered with 400', async () => {
    const answer = await call(action, undefined, pathOf(action, 'x'.repeat(2049)))
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
  })
})

describe.each(withBody)('%s', (_name, action) => {
  test.each([
    ['malformed JSON', '{"a":'],
    ['a list', '["a"]'],
    ['null', 'null'],
    ...(action.bodyOptional ? [] : [['nothing', '']]),
  ])('answers 400 to %s', async (_what, body) => {
    const answer = await call(action, body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
  })

  test('a body of more than 1 MiB is answered with 413', async () => {
    expect((await call(action, `{"x":"${'x'.repeat(1024 * 1024)}"}`)).status).toBe(413)
  })

  test('a body that is not JSON is answered with 415, so that no HTML form can send one', async () => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'text/plain' }
    expect((await callAdmin(service, action.method, pathOf(action), '{}', headers)).status).toBe(415)
  })

  test('the error names every member of the wrong type', async () => {
    const properties = membersOf(action.body).properties ?? {}
    const members = Object.keys(properties)
    const wrong = (name: string) => (Object(properties[name]).type === 'integer' ? 'x' : 7)
    const answer = await call(action, Object.fromEntries(members.map((name) => [name, wrong(name)])))
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    // The first ten members are named; the others are counted.
    const text = String(answer.body.error_description)
    const named = text.split('; ').map((problem) => problem.split(' ')[0])
    const missing = members.filter((member) => !named.includes(member))
    expect(missing.length).toBe(Number(/; and (\d+) more problems?$/.exec(text)?.[1] ?? 0))
  })
})
