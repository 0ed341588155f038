// The room for what browsers come back for: a few addresses that fill it leave a smaller room to the others.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { keepValue } from '../../src/oauth/sign_in/pending_value.ts'
import { keepPushed } from '../../src/oauth/sign_in/pushed_request.ts'
import type { Client } from '../../src/records/client.ts'
import { aClient } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const KILOBYTES = 1024
const keep = (remote: string, kilobytes: number) =>
  keepValue(service.app, remote, { id: newId(), key: 'a key', value: { text: 'x'.repeat(kilobytes * KILOBYTES) } })

/** Fills the first room of all addresses, without storing 256 MB. */
async function fillFirstRoom(): Promise<void> {
  const all = service.app.pending[0]?.all
  while ((await all?.take('', 8 * KILOBYTES)) === 0);
  while ((await all?.take('', 1)) === 0);
}

test('an address keeps values until the first room of all is full, and small ones after that', async () => {
  expect(await keep('192.0.2.1', 30)).toBe(0)
  await fillFirstRoom()
  expect(await keep('192.0.2.2', 10)).toBe(0)
  const waits = await Promise.all(Array.from({ length: 40 }, () => keep('192.0.2.3', 10)))
  const served = waits.filter((wait) => wait === 0).length
  expect(served).toBeGreaterThan(1)
  // Four, and as many as the first room gets again meanwhile: 73 KB a second.
  expect(served).toBeLessThan(30)
  expect(Math.max(...waits)).toBeGreaterThan(0)
  expect(await keep('192.0.2.4', 10)).toBe(0)
})

const anyProgram = (client_id: string, more: Partial<Client>): Client =>
  aClient({ client_id, token_endpoint_auth_method: 'none', ...more })
const push = (client: Client, remote: string) =>
  keepPushed(service.app, { client, remote }, { state: 's'.repeat(10 * KILOBYTES) }, []).then(
    () => 'kept',
    ({ reason }) => reason,
  )
/** Fills both rooms of pushed requests for a client, or for all clients that operators did not create. */
async function fillPushed(of: 'client' | 'all', name: string): Promise<void> {
  for (const room of service.app.pushed)
    for (const kilobytes of [KILOBYTES, 8]) while ((await room[of]?.take(name, kilobytes)) === 0);
}

test('Z11: a client that any program can be fills its own room of pushed requests, and all of them together not that of operators and of sign-ins', async () => {
  const [app, desk] = [anyProgram('app', {}), anyProgram('desk', {})]
  const [registered, other] = ['registered', 'other'].map((id) => anyProgram(id, { registration_source: 'dcr' }))
  if (!registered || !other) throw new Error('no clients')
  for (const client of [app, desk, registered, other]) expect(await push(client, '198.51.100.1')).toBe('kept')
  for (const { client_id } of [app, registered]) await fillPushed('client', client_id)
  for (const client of [app, registered]) expect(await push(client, '198.51.100.2')).toBe('pushed_too_many')
  for (const client of [desk, other]) expect(await push(client, '198.51.100.3')).toBe('kept')
  await fillPushed('all', '')
  expect(await push(other, '198.51.100.4')).toBe('pushed_too_many')
  expect(await push(desk, '198.51.100.5')).toBe('kept')
  expect(await push(aClient(), '198.51.100.6')).toBe('kept')
  expect(await keep('198.51.100.4', 10)).toBe(0)
})
