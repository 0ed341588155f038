// The reload of the configuration as an admin operation.
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reloadConfig } from '../../src/server/reload.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { tempFile } from '../support/folder.ts'
import { startService, type TestService } from '../support/service.ts'

const RELOAD = '/admin/system/config/reload'
let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

test('a reload answers which keys it applied and which need a restart, and is in the audit trail', async () => {
  const { app } = service
  const file = tempFile('service.yaml', {})
  app.reload = () => reloadConfig(app, file, {})
  await okAdmin(service, 'POST', RELOAD)
  const before = (await eventsOf(service, 'config_reloaded')).length
  writeFileSync(file, JSON.stringify({ rate_limit: { burst: 77 }, server: { read_timeout: '7s' } }))
  expect(await okAdmin(service, 'POST', RELOAD)).toMatchObject({
    applied: ['rate_limit.burst'],
    needs_restart: expect.arrayContaining(['server.read_timeout']),
  })
  expect(app.config.rate_limit.burst).toBe(77)
  const events = await eventsOf(service, 'config_reloaded')
  expect(events.length).toBe(before + 1)
  expect(events[0]).toMatchObject({ actor_id: 'admin', detail: { applied: ['rate_limit.burst'] } })
})

test('a reload of a configuration with an error is 400, names the keys, and changes nothing', async () => {
  const { app } = service
  const burst = app.config.rate_limit.burst
  app.reload = () => reloadConfig(app, tempFile('service.yaml', { rate_limit: { burst: 'many' } }), {})
  const { status, body } = await callAdmin(service, 'POST', RELOAD)
  expect([status, body['error']]).toEqual([400, 'invalid_request'])
  expect(body['error_description']).toContain('rate_limit.burst')
  expect(app.config.rate_limit.burst).toBe(burst)
})

test('without a server there is nothing to reload', async () => {
  delete service.app.reload
  const { status, body } = await callAdmin(service, 'POST', RELOAD)
  expect([status, body['error']]).toEqual([503, 'temporarily_unavailable'])
})
