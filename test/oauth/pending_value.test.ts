// The room for what browsers come back for: a few addresses that fill it leave a smaller room to the others.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { keepValue } from '../../src/oauth/sign_in/pending_value.ts'
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
  const waits = await Promise.all(Array.from({ length: 12 }, () => keep('192.0.2.3', 10)))
  const served = waits.filter((wait) => wait === 0).length
  expect(served).toBeGreaterThan(1)
  expect(served).toBeLessThan(7)
  expect(Math.max(...waits)).toBeGreaterThan(0)
  expect(await keep('192.0.2.4', 10)).toBe(0)
})
