// Rules of the stored sums of requests, and of the failures of clients.
import { expect, test } from 'vitest'
import type { ActivityKind, ActivitySum } from '../../../src/telemetry/activity_sums.ts'
import type { ClientFailure } from '../../../src/telemetry/client_failures.ts'
import { aClient } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const AT = 1_800_000_000
const DAY = 86_400

export function activityRules(bench: Bench): void {
  const sum = (kind: ActivityKind, name: string, requests: number): ActivitySum => ({
    ...{ kind, name, requests },
    ...{ refused: 1, limited: 0, issued: 2 },
  })
  const failure = (client_id: string, more: Partial<ClientFailure> = {}): ClientFailure => ({
    ...{ client_id, step: 'authorize', status: 400, error: 'invalid_request', reason: 'unregistered_redirect_uri' },
    ...{ detail: 'no', parameter: 'redirect_uri', sent: 'https://a.example/cb', allowed: ['https://b.example/cb'] },
    ...{ address: '192.0.2.1', request_id: 'r1', count: 1, first_at: AT, last_at: AT },
    ...more,
  })

  test('sums of instances are added, by minute and by hour', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        (i % 2 ? store : other.store).addActivity({ at: AT, sums: [sum('client', 'a', 1), sum('client', 'b', 2)] }),
      ),
    )
    await store.addActivity({ at: AT + 60, sums: [sum('client', 'a', 5)] })
    const range = { kind: 'client' as const, from: AT - 3600, until: AT + 3600 }
    expect(await other.store.readActivity({ ...range, name: 'a', width: 60 })).toEqual([
      { kind: 'client', name: 'a', at: AT, requests: 6, refused: 6, limited: 0, issued: 12 },
      { kind: 'client', name: 'a', at: AT + 60, requests: 5, refused: 1, limited: 0, issued: 2 },
    ])
    expect(await store.readActivity({ ...range, width: 3600 })).toMatchObject([
      { name: 'a', at: AT, requests: 11 },
      { name: 'b', at: AT, requests: 12 },
    ])
    // Minutes inside of a period count for it.
    await store.addActivity({ at: AT + 600 + 240, sums: [sum('grant', 'g', 3)] })
    expect(await store.readActivity({ ...range, kind: 'grant', width: 600 })).toMatchObject([
      { at: AT + 600, requests: 3 },
    ])
    expect(await store.readActivity({ ...range, kind: 'user', width: 600 })).toEqual([])
    await other.close()
    await close()
  })

  test('minutes are kept for 7 days, hours and failures for 90', async () => {
    const { store, close } = await bench.open()
    await store.addActivity({ at: AT, sums: [sum('all', '', 1)] })
    await store.addClientFailures({ failures: [failure('c')] })
    const left = async () => {
      const range = { kind: 'all' as const, from: 0, until: AT + 1 }
      const [minutes, hours] = [
        await store.readActivity({ ...range, width: 60 }),
        await store.readActivity({ ...range, width: 3600 }),
      ]
      return [minutes.length, hours.length, (await store.listClientFailures({ client_id: 'c' })).length]
    }
    const sweep = async (now: number) =>
      (await store.sweepActivity({ now, limit: 10 })) + (await store.sweepClientFailures({ now, limit: 10 }))
    expect(await sweep(AT + 7 * DAY)).toBe(0)
    expect(await sweep(AT + 7 * DAY + 60)).toBe(1)
    expect(await left()).toEqual([0, 1, 1])
    expect(await sweep(AT + 91 * DAY)).toBe(2)
    expect(await left()).toEqual([0, 0, 0])
    await close()
  })

  test('equal failures of a client are counted, and the last 20 different ones are kept', async () => {
    const { store, close } = await bench.open()
    await store.addClientFailures({ failures: [failure('c', { count: 3 }), failure('d')] })
    await store.addClientFailures({
      failures: [failure('c', { last_at: AT + 9, request_id: 'r2', address: '192.0.2.2' })],
    })
    expect(await store.listClientFailures({ client_id: 'c' })).toEqual([
      failure('c', { count: 4, last_at: AT + 9, request_id: 'r2', address: '192.0.2.2' }),
    ])
    const sent = (i: number) => failure('c', { sent: `https://a.example/${i}`, last_at: AT + 10 + i })
    await store.addClientFailures({ failures: Array.from({ length: 25 }, (_, i) => sent(i)) })
    const kept = await store.listClientFailures({ client_id: 'c' })
    expect(kept.map((each) => each.sent)).toEqual(Array.from({ length: 20 }, (_, i) => sent(24 - i).sent))
    expect(await store.listClientFailures({ client_id: 'd' })).toEqual([failure('d')])
    await close()
  })

  test('a deleted client has no failures', async () => {
    const client = aClient()
    await bench.store.createClient(client)
    await bench.store.addClientFailures({ failures: [failure(client.client_id)] })
    await bench.store.deleteClient({ by: 'ada', client_id: client.client_id, force: true, now: AT, oldest: '' })
    expect(await bench.store.listClientFailures(client)).toEqual([])
  })
}
