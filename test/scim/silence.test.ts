// The metrics of a provider: its people and groups, and the time since its last request, for the alert about one that is silent.
import { expect, test } from 'vitest'
import { metricOf, okAdmin } from '../support/admin.ts'
import { federating } from '../support/openid_fake.ts'
import { scimClient, scimWithAcme } from '../support/scim.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

test('the metric has the age of the last request with any key of a provider, and no provider without a request or a key', async () => {
  const { env, file } = scimWithAcme()
  const service = await startService(federating('http://localhost:9', env), file)
  const { store } = service.app
  const [first, second] = [await scimClient(service), await scimClient(service)]
  await scimClient(service, 'acme')
  await first.add({ userName: 'ada@example.com' })
  await first.add({ userName: 'grace@example.com' })
  await first.send('POST', '/Groups', { displayName: 'engineering' })
  const lastCall = async () =>
    (await store.listScimStates({})).find(({ provider }) => provider === 'default')?.last_call_at
  await eventually(async () => (await lastCall()) !== undefined)
  service.advance(1000)
  const before = service.app.clock.now()
  await second.send('GET', '/Users')
  await eventually(async () => Number(await lastCall()) >= before)
  service.advance(90_000)
  expect(await metricOf(service, 'ext_scim_call_age_seconds{provider="default"}')).toBeGreaterThanOrEqual(90_000)
  expect(await metricOf(service, 'ext_scim_call_age_seconds{provider="default"}')).toBeLessThan(90_010)
  expect(await metricOf(service, 'ext_scim_call_age_seconds{provider="acme"}')).toBe(0)
  expect(await metricOf(service, 'ext_scim_people{provider="default"}')).toBe(2)
  expect(await metricOf(service, 'ext_scim_groups{provider="default"}')).toBe(1)
  expect(await metricOf(service, 'ext_scim_people{provider="acme"}')).toBe(0)
  for (const { id } of await okAdmin<{ id: string }[]>(service, 'GET', '/admin/api-keys'))
    await okAdmin(service, 'DELETE', `/admin/api-keys/${id}`)
  expect(await store.listScimStates({})).toEqual([])
  await service.close()
})
