// Deletion of expired rows by the service itself: off by default, once in an interval, at one instance at a time.
import { afterEach, expect, test, vi } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { purgeOnce, startRetention } from '../../src/server/retention.ts'
import { startService, type TestService } from '../support/service.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function started(interval?: string): Promise<TestService> {
  const on = { SERVICE_RETENTION_ENABLED: 'true', SERVICE_RETENTION_INTERVAL: interval ?? '' }
  const service = await startService(interval === undefined ? {} : on)
  closing.push(() => service.close())
  return service
}

async function addExpiredSession({ app }: TestService): Promise<void> {
  const now = app.clock.now()
  await app.store.createSession({ id: newId(), user_id: 'u_retention', created_at: now - 100, expires_at: now - 10 })
}
/** The number of sessions that the last run deleted. */
const lastDeleted = async ({ app }: TestService) =>
  (await app.store.listPurgeRuns()).find(({ target }) => target === 'sessions')?.deleted

test('nothing is deleted by default', async () => {
  const service = await started()
  await purgeOnce(service.app)
  expect(await lastDeleted(service)).toBeUndefined()
})

test('expired rows are deleted once in each interval, whatever number of instances and restarts there is', async () => {
  const service = await started('10h')
  await addExpiredSession(service)
  await purgeOnce(service.app)
  expect(await lastDeleted(service)).toBe(1)
  await addExpiredSession(service)
  await addExpiredSession(service)
  service.advance(9 * 3600)
  await purgeOnce(service.app)
  expect(await lastDeleted(service), 'within the interval').toBe(1)
  service.advance(3600)
  await purgeOnce(service.app)
  expect(await lastDeleted(service), 'after the interval').toBe(2)
})

test('of instances that look at the same moment one deletes', async () => {
  const service = await started('1h')
  const info = vi.spyOn(service.app.log, 'info')
  await addExpiredSession(service)
  await Promise.all(Array.from({ length: 5 }, () => purgeOnce(service.app)))
  expect(info.mock.calls).toEqual([[{ deleted: 1 }, 'expired rows were deleted']])
})

test('a shutdown ends the run after the current step', async () => {
  const service = await started('1h')
  await addExpiredSession(service)
  await purgeOnce(service.app, () => true)
  expect(await lastDeleted(service)).toBeUndefined()
})

test('a run continues while its lease is renewed, and ends when another instance has it', async () => {
  const service = await started('1h')
  await addExpiredSession(service)
  const renewals: number[] = []
  const take = service.app.store.takeLease
  vi.spyOn(service.app.store, 'takeLease').mockImplementation(async (lease) => {
    renewals.push(lease.until)
    service.advance(1800)
    return renewals.length < 3 && take(lease)
  })
  await purgeOnce(service.app)
  expect(renewals).toHaveLength(3)
  expect(await lastDeleted(service)).toBeUndefined()
})

test('the timer of a service deletes rows', async () => {
  const service = await started('1s')
  await addExpiredSession(service)
  const timer = startRetention(service.app)
  await vi.waitFor(async () => expect(await lastDeleted(service)).toBe(1), { timeout: 10_000 })
  await timer.stop()
})
