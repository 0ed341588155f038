// A webhook of two instances on one PostgreSQL. Each instance is killed in turn while events of both wait, so that the sending one is killed
// too. Every event of the record must arrive, in order.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { metricOf } from '../support/admin.ts'
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
    SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
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
  await expectAll(receiver, first, 6 * EVENTS)
  await Promise.all([first, second].map(({ instance }) => instance.kill()))
})

/** Waits until every event of the record was accepted, and compares the order of each client with that of the record. */
async function expectAll(receiver: TestReceiver, instance: Placed, count: number): Promise<void> {
  const events = await recorded(instance)
  expect(events).toHaveLength(count)
  await expect.poll(() => acceptedBy(receiver).length, { timeout: 60_000, interval: 100 }).toBe(count)
  const accepted = acceptedBy(receiver)
  expect(accepted.toSorted()).toEqual(events.map(({ id }) => id).toSorted())
  for (const client_id of new Set(events.map((event) => event.client_id))) {
    const own = new Set(events.filter((event) => event.client_id === client_id).map(({ id }) => id))
    expect(accepted.filter((id) => own.has(id))).toEqual([...own])
  }
}

/** Resolves when an instance has sent more events than `sent`. */
const sends = (instance: Placed, sent = 0) =>
  expect.poll(() => sentBy(instance), { timeout: 30_000, interval: 50 }).toBeGreaterThan(sent)
const sentBy = (instance: Placed) => metricOf(instance, 'ext_event_deliveries_total{kind="webhook",result="delivered"}')

/** What happens to the instance that sends. Resolves when the other one has taken over. */
const FAULTS = {
  async 'is killed'({ instance }: Placed, takenOver: () => Promise<unknown>) {
    await instance.kill('SIGKILL')
    await takenOver()
    await instance.start()
  },
  async 'is stopped for longer than its lease, and continues'({ instance }: Placed, takenOver: () => Promise<unknown>) {
    instance.signal('SIGSTOP')
    await takenOver()
    instance.signal('SIGCONT')
  },
}
const ROUNDS = 2
const ANSWER_MS = 50
/** The time between two writes of the position (src/events/sender.ts), and the time in which an attempt ends. */
const UNSAVED_MS = 200 + ANSWER_MS

/** The receiver processes each event before it answers. If the sender is gone by then, the event is lost. */
function answerSlowly(receiver: TestReceiver): void {
  receiver.answer = (response) => {
    const delivered = receiver.got.at(-1)
    if (delivered) delivered.status = 503
    setTimeout(() => {
      if (response.destroyed) return
      if (delivered) delivered.status = 204
      response.writeHead(204).end()
    }, ANSWER_MS)
  }
}

test.each(Object.entries(FAULTS))(
  'every event arrives at a slow receiver, in order, when the sending instance %s',
  {
    timeout: 180_000,
  },
  async (_, fault) => {
    const receiver = await TestReceiver.start()
    answerSlowly(receiver)
    let [sender, other] = await twoInstances()
    const [{ client_id: one }, { client_id: two }] = [
      await newMachine(sender.admin, ['client_credentials']),
      await newMachine(other.admin, ['client_credentials']),
    ]
    await operate(other.admin, 'POST', 'webhooks', { url: receiver.url, events: [...ACTIONS] })
    await Promise.all([change(sender, one), change(other, two)])
    const instances = [sender, other]
    await expect.poll(async () => Math.max(...(await Promise.all(instances.map(sentBy))))).toBeGreaterThan(0)
    if ((await sentBy(sender)) === 0) [sender, other] = [other, sender]
    for (let round = 0; round < ROUNDS; round++) {
      const [arrived, sent] = [receiver.got.length, await sentBy(other)]
      // The receiver is slower than the changes, so that an event is being sent when the fault occurs.
      await change(other, two)
      await receiver.arrived(arrived + 1)
      const writing = change(other, two)
      await fault(sender, () => sends(other, sent))
      await writing
      ;[sender, other] = [other, sender]
    }
    await Promise.all([change(sender, one), change(other, two)])
    await expectAll(receiver, sender, (2 * ROUNDS + 4) * EVENTS)
    // The other instance repeats the events of the time between two writes of the position, the one that was being written, and the one
    // that was being sent. An instance that continues repeats one more.
    const mostRepeated = UNSAVED_MS / ANSWER_MS + 3
    expect(receiver.got.length - acceptedBy(receiver).length).toBeLessThanOrEqual(mostRepeated * ROUNDS)
    await Promise.all([sender, other].map(({ instance }) => instance.kill()))
  },
)
