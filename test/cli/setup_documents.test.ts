// `admin apply`, `admin diff` and `admin export` with clients whose metadata document the operator keeps.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { startService, type TestService } from '../support/service.ts'

const CLIENT = 'https://app.example.com/client.json'
const DOCUMENT = {
  client_id: CLIENT,
  client_name: 'App',
  redirect_uris: ['https://app.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'mcp:read mcp:write',
  // The service does not use it, and keeps it.
  contacts: ['ops@app.example.com'],
}
const setUp = (document: object, more: object = {}) => ({ clients: [{ client_id: CLIENT, document, ...more }] })
const LIMITED = { grant_types: ['authorization_code'], scope: 'mcp:read', limits: { tokens_per_day: 7 } }

let [here, there]: TestService[] = []
beforeAll(async () => {
  here = await startService()
  there = await startService()
})
afterAll(async () => {
  await here?.close()
  await there?.close()
})

const run = async (service: TestService | undefined, command: string, setUp: object) => {
  const file = tempFile('setup.json', JSON.stringify(setUp))
  const { code, stdout } = await runHere(['admin', command, '-f', file, '--json'], envOf(service as TestService))
  return { code, rows: JSON.parse(stdout) as Record<string, unknown>[] }
}
const exported = async (service: TestService | undefined) =>
  JSON.parse(await okHere(['admin', 'export', '--only', 'clients', '--json'], envOf(service as TestService)))
const shown = async (service: TestService | undefined) =>
  okAdmin<Record<string, unknown>>(service as TestService, 'GET', `/admin/clients/${encodeURIComponent(CLIENT)}`)

test('apply stores a document, and changes nothing the second time; export writes it as it was given', async () => {
  const { rows } = await run(here, 'apply', setUp(DOCUMENT))
  expect(rows[0]).toMatchObject({ action: 'create', kind: 'clients', key: CLIENT })
  expect(await shown(here)).toMatchObject({ client_name: 'App', document_source: 'stored', document: DOCUMENT })
  expect(await run(here, 'apply', setUp(DOCUMENT))).toEqual({ code: 0, rows: [{ unchanged: 1 }] })
  expect(await exported(here)).toEqual(setUp(DOCUMENT))
})

test.each([
  ['a member that the client has', { client_name: 'Renamed' }],
  ['a member that the service does not use', { client_name: 'Renamed', contacts: ['dev@app.example.com'] }],
])('diff shows a changed document, and apply stores it: %s', async (_what, change) => {
  const next = { ...DOCUMENT, ...change }
  const { document } = await shown(here)
  const differs = await run(here, 'diff', setUp(next))
  expect(differs.code).toBe(2)
  expect(differs.rows).toMatchObject([
    { action: 'update', key: CLIENT, changes: [{ member: 'document', from: document, to: next }] },
  ])
  await run(here, 'apply', setUp(next))
  expect(await run(here, 'diff', setUp(next))).toEqual({ code: 0, rows: [] })
  expect(await exported(here)).toEqual(setUp(next))
})

test('the limits of a document travel with it to an empty server, also those that are the default of other clients', async () => {
  await run(here, 'apply', setUp(DOCUMENT, LIMITED))
  expect(await shown(here)).toMatchObject({ ...LIMITED, document: DOCUMENT })
  const file = await exported(here)
  expect(file).toEqual(setUp(DOCUMENT, LIMITED))
  await run(there, 'apply', file)
  expect(await shown(there)).toMatchObject({ ...LIMITED, document: DOCUMENT })
  expect(await exported(there)).toEqual(file)
  expect(await run(there, 'diff', file)).toEqual({ code: 0, rows: [] })
})

test('prune removes a document that the file does not list', async () => {
  const file = tempFile('setup.json', '{"clients":[]}')
  const { stdout } = await runHere(
    ['admin', 'apply', '-f', file, '--prune', '--yes', '--json'],
    envOf(there as TestService),
  )
  expect(JSON.parse(stdout)).toMatchObject([{ action: 'delete', kind: 'clients', key: CLIENT }, { unchanged: 0 }])
})
