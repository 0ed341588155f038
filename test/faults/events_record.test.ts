// Many events to a receiver that fails now and then: each event is compared with the record. SERVICE_EVENTS sets their number.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { feedEnd } from '../../src/events/cursor.ts'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { RECEIVERS_ALLOWED } from '../support/receiver.ts'
import { startService } from '../support/service.ts'

const COUNT = Number(process.env['SERVICE_EVENTS'] ?? 2000)
const FAULTS = 6
const BATCH = 500

/** Ways in which a receiver fails. After the last one it has the event, and the sender cannot know. */
const FAULT_KINDS = ['refuses', 'closes', 'has it and closes'] as const

/** A receiver that stores only ids. One request of every `every` requests fails. */
async function failingReceiver(every: number) {
  const got: string[] = []
  let requests = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const at = requests++
      const fault = at % every === every - 1 ? FAULT_KINDS[Math.floor(at / every) % FAULT_KINDS.length] : undefined
      if (fault === undefined || fault === 'has it and closes') got.push(String(request.headers['webhook-id']))
      if (fault === 'refuses') response.writeHead(503).end()
      else if (fault) request.socket.destroy()
      else response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => {
    server.close()
    server.closeAllConnections()
  })
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** The sequence without an event that follows itself. */
const withoutRepeats = (ids: readonly string[]): string[] => ids.filter((id, i) => id !== ids[i - 1])

test(`${COUNT} events arrive in the order of the record, each once except after a lost answer`, {
  timeout: 3_600_000,
}, async () => {
  const service = await startService(RECEIVERS_ALLOWED)
  const { store, clock } = service.app
  const { got, url } = await failingReceiver(Math.ceil((COUNT * 0.8) / FAULTS))
  const start = await feedEnd(store)
  const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/webhooks', { url, events: ['client_updated'] })
  const began = performance.now()
  for (let done = 0; done < COUNT; done += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, COUNT - done) }, (_, i) => ({
      id: newId(),
      action: i % 5 === 0 ? 'client_created' : 'client_updated',
      actor_id: 'admin',
      ip: '',
      detail: {},
      created_at: clock.now(),
    }))
    await Promise.all(events.map((event) => store.recordAudit(event)))
  }
  const wanted = await recordedFrom(start)
  for (; withoutRepeats(got.slice(-1)).at(-1) !== wanted.at(-1); await sleep(50)) service.advance(1)
  expect(withoutRepeats(got)).toEqual(wanted)
  expect(got.length - wanted.length).toBe(Math.floor(FAULTS / FAULT_KINDS.length))
  await expect
    .poll(() => okAdmin(service, 'GET', `/admin/webhooks/${id}`))
    .toMatchObject({ status: 'active', pending: 0 })
  console.log(`${wanted.length} of ${COUNT} events in ${Math.round((performance.now() - began) / 1000)} s`)

  /** The ids of the events that the webhook names, in the order in which they became visible. */
  async function recordedFrom(feed_order: number): Promise<string[]> {
    const end = await feedEnd(store)
    const ids: string[] = []
    for (let after = { feed_order: feed_order - 1, event_id: newId() }; ; ) {
      const page = await store.listFeed({ after, end, limit: 1000 })
      for (const { event } of page) if (event.action === 'client_updated') ids.push(event.id)
      const last = page.at(-1)
      if (!last) return ids
      after = { feed_order: last.feed_order, event_id: last.event_id }
    }
  }
})
