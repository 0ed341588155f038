// Shares of the limit on all requests, behind a proxy that names the addresses: one address or client that loops limits only itself,
// and unknown callers leave a part to operators' clients.
import { expect, test } from 'vitest'
import { machineToken } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'

const limited = (threads: string) =>
  startService({
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '2',
    SERVICE_RATE_LIMIT_BURST: '100',
    SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1, ::1',
    SERVICE_SERVER_FRONT_THREADS: threads,
  })

test.each(['1', '2'])(
  'with %s front threads, a looping address leaves a fifth of the limit to others',
  async (threads) => {
    const service = await limited(threads)
    const client = await addClient(service)
    const from = (address: string) => machineToken(service, client, {}, { 'x-forwarded-for': address })
    expect((await from('192.0.2.2')).status).toBe(200)
    const loop = await Promise.all(Array.from({ length: 200 }, () => from('192.0.2.1')))
    expect(loop.filter(({ status }) => status === 429).length).toBeGreaterThan(50)
    const refused = loop.find(({ status }) => status === 429)
    expect([refused?.body['error'], Number(refused?.headers.get('retry-after'))]).toEqual([
      'slow_down',
      expect.any(Number),
    ])
    // The limit of all is not used up.
    expect((await from('192.0.2.2')).status).toBe(200)
    expect((await from('192.0.2.3')).status).toBe(200)
    await service.close()
  },
)

const addressed = (host: number) => ({ 'x-forwarded-for': `198.51.100.${host}` })
/** Requests of unknown callers, from as many addresses as there are. Returns how many the limits let through. */
async function flood(service: TestService, count: number): Promise<number> {
  const sent = Array.from({ length: count }, (_, i) =>
    fetch(`${service.issuer}/.well-known/oauth-authorization-server`, { headers: addressed(i % 250) }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      },
    ),
  )
  return (await Promise.all(sent)).filter((status) => status === 200).length
}

test.each(['1', '2'])(
  "with %s front threads, unknown callers of many addresses leave a tenth of the limit to operators' clients",
  async (threads) => {
    const service = await limited(threads)
    const client = await addClient(service)
    const known = { 'x-forwarded-for': '192.0.2.2' }
    expect((await machineToken(service, client, {}, known)).status).toBe(200)
    const passed = await flood(service, 300)
    expect(passed).toBeGreaterThanOrEqual(80)
    expect(passed).toBeLessThan(96)
    expect((await machineToken(service, client, {}, known)).status).toBe(200)
    await service.close()
  },
)

test.each(['1', '2'])(
  'with %s front threads, one client from many addresses leaves a fifth of the limit to other clients',
  async (threads) => {
    const service = await limited(threads)
    const [looping, other] = [await addClient(service), await addClient(service)]
    const ask = (client: typeof other, host: number) => machineToken(service, client, {}, addressed(host))
    expect((await ask(other, 1)).status).toBe(200)
    const loop = await Promise.all(Array.from({ length: 150 }, (_, i) => ask(looping, 2 + (i % 100))))
    const served = loop.filter(({ status }) => status === 200).length
    expect(served).toBeGreaterThanOrEqual(79)
    expect(served).toBeLessThan(90)
    // The limit on all requests refuses others of them first, if they arrive before the share returns what it refused.
    const refused = loop.filter(({ status }) => status === 429).map(({ body }) => body)
    expect(refused).toContainEqual(
      expect.objectContaining({ error: 'slow_down', error_description: expect.stringContaining('share') }),
    )
    expect((await ask(other, 1)).status).toBe(200)
    await service.close()
  },
)
