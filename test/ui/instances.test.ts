// Home of two instances whose configurations differ.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { type Pair, startPair } from '../support/pair.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { openAdmin } from './open.ts'

let server: PostgresServer
let pair: Pair
beforeAll(async () => {
  server = await startPostgres()
  let started = 0
  pair = await startPair(await server.migrated(), {}, (env) =>
    startService({ ...env, ...(started++ === 1 ? { SERVICE_SESSION_SECRET: 'another-secret-'.repeat(3) } : {}) }),
  )
})
afterAll(async () => {
  await pair.close()
  await server.close()
})

describe(`in ${CHROMIUM}`, () => {
  test('home lists the instances, and shows which one differs and in what', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, pair.a)
    const rows = page.locator('.card', { hasText: 'Instances' }).locator('tbody tr')
    await expect.poll(() => rows.allTextContents()).toHaveLength(2)
    expect(await rows.filter({ hasText: 'differs: session_secret' }).count()).toBe(1)
    await expect
      .poll(() => page.locator('.card', { hasText: 'Needs attention' }).textContent())
      .toContain('The instances differ in the session secrets')
  })
})
