// Exports on the command line: JSON lines of every row.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin } from '../support/admin.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

/** More events than one page of an export has. */
const EVENTS = 1005
let service: TestService
beforeAll(async () => {
  service = await startService()
  const { store, clock } = service.app
  const created_at = clock.now()
  const event = { action: 'user_enabled', actor_id: 'admin:night', ip: '', detail: {}, created_at } as const
  await Promise.all(Array.from({ length: EVENTS }, () => store.recordAudit({ id: newId(), ...event })))
})
afterAll(() => service.close())

const rowsOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test.each([
  ['through the server', {}],
  ['on the database', { SERVICE_ADMIN_ADDRESS: '127.0.0.1:2' }],
])('admin audit export prints every event as a JSON line, newest first, %s', async (_how, env) => {
  const args = ['admin', 'audit', 'export', '--action', 'user_enabled']
  const printed = rowsOf(await okHere(args, { ...envOf(service), ...env }))
  const { body } = await callAdmin<string[]>(service, 'GET', '/admin/audit/export?action=user_enabled')
  expect(printed).toHaveLength(EVENTS)
  expect(printed).toEqual(body.map((line) => JSON.parse(line)))
})

test('admin audit export has the filters of the REST operation', async () => {
  await addUser(service)
  const last = rowsOf(await okHere(['admin', 'audit', 'export', '--actor-id', 'admin:night'], envOf(service)))
  expect(last).toHaveLength(EVENTS)
  const later = ['admin', 'audit', 'export', '--since', '2999-01-01T00:00:00Z']
  expect(await okHere(later, envOf(service))).toBe('')
  const { code, stderr } = await runHere(['admin', 'audit', 'export', '--since', 'soon'], envOf(service))
  expect([code, stderr]).toEqual([2, expect.stringContaining('since')])
})

test('an export that the server ends early is an error, after the rows that arrived', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"id":"a"}\n{"id":', () => {
      response.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { ...envOf(service), SERVICE_ADMIN_ADDRESS: `127.0.0.1:${port}` }
  const { code, stderr } = await runHere(['admin', 'audit', 'export'], env)
  server.close()
  expect([code, stderr]).toEqual([1, expect.stringContaining('ended the export early')])
})
