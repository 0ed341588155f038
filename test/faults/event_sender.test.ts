// A webhook of two instances on one PostgreSQL. Each instance is killed in turn while events of both wait, so that the sending one is killed
// too. Every event of the record must arrive, in order.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tempFolder } from '../support/folder.ts'
import { type Placed, placed } from '../support/instances.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { ADMIN_KEY } from '../support/service.ts'
import { newMachine, operate } from '../torture/scene.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

/** Number of events that each instance records between two kills. */
const EVENTS = 20
const ACTIONS = ['client_suspended', 'client_reactivated'] as const

async function twoInstances(): Promise<[Placed, Placed]> {
  const shared = {
    ...RECEIVERS_ALLOWED,
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: await server.database(),
  }
  const folder = tempFolder()
  const first = await placed(folder, shared)
  const second = await placed(folder, { ...shared, SERVICE_SERVER_ISSUER: first.issuer })
  await first.instance.start()
  await second.instance.start()
  return [first, second]
}

/** Suspends and reactivates a client, one after the other. Returns when each change was answered. */
async function change({ admin }: Placed, client_id: string): Promise<void> {
  for (let i = 0; i < EVENTS; i++)
    await operate(admin, 'PATCH', `clients/${client_id}/${i % 2 ? 'reactivate' : 'suspend'}`)
}

interface Recorded {
  id: string
  action: string
  client_id: string
}
async function recorded({ admin }: Placed): Promise<Recorded[]> {
  const answer = await fetch(`${admin}/admin/audit/export`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })
  const lines = (await answer.text()).split('\n').filter(Boolean)
  const events = lines.map((line) => JSON.parse(line) as Recorded)
  return events.filter(({ action }) => ACTIONS.some((each) => each === action)).reverse()
}

/** The ids that were accepted, each once, in the order of their first acceptance. */
const acceptedBy = ({ got }: TestReceiver) => [
  ...new Set(got.filter(({ status }) => status < 300).map(({ headers }) => String(headers['webhook-id']))),
]

test('every event arrives, in order, when the instance that sends them is killed and the other one continues', {
  timeout: 180_000,
}, async () => {
  const receiver = await TestReceiver.start()
  const [first, second] = await twoInstances()
  const clients = [first, second].map(async ({ admin }) => (await newMachine(admin, ['client_credentials'])).client_id)
  const [one = '', two = ''] = await Promise.all(clients)
  await operate(first.admin, 'POST', 'webhooks', { url: receiver.url, events: [...ACTIONS] })
  for (const [killed, left] of [
    [first, second],
    [second, first],
  ] as const) {
    await Promise.all([change(first, one), change(second, two)])
    // One attempt is refused, so that events wait.
    receiver.next.push(204, 503, 204)
    await killed.instance.kill('SIGKILL')
    await change(left, left === first ? one : two)
    await killed.instance.start()
  }
  const events = await recorded(first)
  expect(events).toHaveLength(6 * EVENTS)
  await expect.poll(() => acceptedBy(receiver).length, { timeout: 60_000, interval: 100 }).toBe(events.length)
  const accepted = acceptedBy(receiver)
  expect(accepted.toSorted()).toEqual(events.map(({ id }) => id).toSorted())
  for (const client_id of [one, two]) {
    const own = new Set(events.filter((event) => event.client_id === client_id).map(({ id }) => id))
    expect(accepted.filter((id) => own.has(id))).toEqual([...own])
  }
  await Promise.all([first, second].map(({ instance }) => instance.kill()))
})
