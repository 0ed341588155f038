// GET /admin/stats/waste: the clients that ask for tokens much more often than the lifetime of the tokens needs.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idFloor } from '../../src/lib/id.ts'
import { HOUR } from '../../src/lib/time.ts'
import type { Client } from '../../src/records/client.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import { metricOf, okAdmin } from '../support/admin.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Records tokens of an hour, `every` seconds, the last one now. */
async function record(
  client: Client,
  times: number,
  every: number,
  more: (i: number) => Partial<Issuance> = () => ({}),
) {
  const { clock, store } = service.app
  for (let i = 0; i < times; i++) {
    const issued_at = clock.now() - i * every
    // The time is that of the id; the end of the id keeps ids of one second apart.
    const id = Buffer.from(idFloor(issued_at), 'base64url')
    id.writeUInt32BE(Math.floor(Math.random() * 2 ** 32), 8)
    id.writeUInt32BE(i, 12)
    const times = { id: id.toString('base64url'), issued_at, expires_at: issued_at + HOUR }
    await store.recordIssuance(anIssuance({ client_id: client.client_id, sub: client.client_id, ...times, ...more(i) }))
  }
}
interface Report {
  wasteful_clients: number
  clients: { client_id: string; message: string }[]
}

test('shows who wastes tokens, what that costs and what to write to the owner, and no client that needs its tokens', async () => {
  const looping = await addClient(service, { client_name: 'Looping' })
  const [renewing, replicas, few] = [await addClient(service), await addClient(service), await addClient(service)]
  await record(looping, 240, 30)
  await record(renewing, 23, HOUR - 60)
  await record(replicas, 300, 10, (i) => ({ ip: `192.0.2.${i}` }))
  await record(few, 50, 10)
  const report = await okAdmin<Report>(service, 'GET', '/admin/stats/waste')
  expect(report.clients).toHaveLength(1)
  expect(report).toMatchObject({
    window: 24 * HOUR,
    wasteful_clients: 1,
    clients: [
      {
        client_id: looping.client_id,
        client_name: 'Looping',
        tokens: 240,
        needed: 2,
        times: 120,
        lifetime: HOUR,
        addresses: 1,
        month: { tokens: 238 * 30, rows: 238 * 30, cpu_hours: 0.000299, gigabytes: 0.00218 },
      },
    ],
  })
  expect(report.clients[0]?.message).toMatch(/Looping .* requested 240 access tokens .* 2 would have been enough/)
  expect(await metricOf(service, 'ext_wasteful_clients')).toBe(1)
})

/** Runs with reads of 100 rows. Returns the number of reads. */
async function inSmallReads(work: () => Promise<unknown>, next?: string): Promise<number> {
  const { store } = service.app
  const { readTokenUse } = store
  let reads = 0
  Object.assign(store, {
    readTokenUse: async (w: Parameters<typeof readTokenUse>[0]) => {
      reads++
      const page = await readTokenUse({ ...w, rows: 100 })
      return next === undefined ? page : { ...page, next }
    },
  })
  await work()
  Object.assign(store, { readTokenUse })
  return reads
}
const report = () => okAdmin<Report>(service, 'GET', '/admin/stats/waste')

test('adds up the tokens of several reads', async () => {
  const whole = await report()
  expect(await inSmallReads(async () => expect(await report()).toEqual(whole))).toBeGreaterThan(5)
})

test('reads no more than the newest hundred thousand tokens', async () => {
  const now = idFloor(service.app.clock.now())
  expect(await inSmallReads(async () => expect((await report()).clients).toBeDefined(), now)).toBe(50)
})
