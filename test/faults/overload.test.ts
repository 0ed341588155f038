// Overload: admitted requests are served, the others are refused at once, and probes are answered in between.
// The order of events is asserted, never times; figures are in `npm run soak` and docs/performance.md.

import { expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type Placed, placed } from '../support/instances.ts'
import { PASSWORD } from '../support/service.ts'
import { pause, Wire } from '../support/wire.ts'
import type { Machine } from '../torture/history.ts'
import { newMachine, operate } from '../torture/scene.ts'

/** Maximum number of operations that may wait for the storage (src/store/sqlite.ts). */
const QUEUE = 4096
const PROBES = ['/health', '/.well-known/oauth-authorization-server', '/.well-known/jwks.json']

async function running(more: Record<string, string> = {}): Promise<{ at: Placed; client: Machine; port: number }> {
  const at = await placed(tempFolder(), { SERVICE_LOG_LEVEL: 'error', ...more })
  await at.instance.start()
  const client = await newMachine(at.admin, ['client_credentials'])
  return { at, client, port: Number(new URL(at.instance.base).port) }
}
const tokenRequest = (client: Machine) => {
  const body = String(new URLSearchParams({ grant_type: 'client_credentials', ...client }))
  return `POST /oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
const countOf = (wires: readonly Wire[], pattern: RegExp) => wires.filter(({ text }) => pattern.test(text)).length
async function until(check: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 25_000; !check(); await pause(20))
    expect(performance.now()).toBeLessThan(deadline)
}

test('requests beyond the storage queue are 503 with Retry-After before the admitted ones are answered, probes too; afterwards requests succeed at once', async () => {
  const { at, client, port } = await running()
  const request = tokenRequest(client)
  expect((await machineToken(at, client)).status).toBe(200)
  const wires = await Promise.all(Array.from({ length: QUEUE + 1000 }, () => Wire.open(port)))
  const other = new Database(at.env['SERVICE_STORAGE_SQLITE_PATH'] as string)
  const probes = async () =>
    Promise.all(PROBES.map(async (path) => `${(await fetch(at.instance.base + path)).status} ${path}`))
  const well = PROBES.map((path) => `200 ${path}`)
  expect(await probes()).toEqual(well)
  // While another process has locked the file nothing is committed, so that requests wait in the queue.
  other.exec('BEGIN EXCLUSIVE')
  for (const wire of wires) wire.send(request)
  await until(() => countOf(wires, /^HTTP\/1\.1 503/) >= 500)
  expect(await probes()).toEqual(well)
  expect(countOf(wires, /^HTTP\/1\.1 200/), 'answered before the refused and the probes').toBe(0)
  other.exec('ROLLBACK')
  other.close()
  await until(() => countOf(wires, /^HTTP\/1\.1 \d{3}/) === wires.length)
  const refused = countOf(wires, /^HTTP\/1\.1 503/)
  expect(countOf(wires, /^HTTP\/1\.1 200/)).toBe(wires.length - refused)
  // The number of admitted requests before the queue counts as stuck depends on their rate.
  expect(wires.length - refused).toBeGreaterThan(100)
  expect(countOf(wires, /\r\nretry-after: 1\r\n/i)).toBe(refused)
  for (const wire of wires) wire.leave()
  expect((await machineToken(at, client)).status).toBe(200)
})

test('requests beyond the rate limit are 429, and probes have no limit', async () => {
  const { at, client } = await running({
    SERVICE_RATE_LIMIT_ENABLED: 'true',
    SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '5',
    SERVICE_RATE_LIMIT_BURST: '20',
  })
  const answers = await Promise.all(Array.from({ length: 200 }, () => machineToken(at, client)))
  const refused = answers.filter(({ status }) => status === 429)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
  expect(refused.length).toBeGreaterThan(100)
  for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  const probes = await Promise.all(Array.from({ length: 50 }, () => fetch(`${at.instance.base}/health`)))
  expect(new Set(probes.map(({ status }) => status))).toEqual(new Set([200]))
})

test('many logins wait in their own queue: tokens are issued before they are done', async () => {
  const { at, client } = await running({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
  const { base } = at.instance
  await operate(at.admin, 'POST', 'users', { email: 'ada@example.com', password: PASSWORD, name: 'Ada' })
  const browser = new Browser()
  const form = { ...Object.fromEntries(fieldsOf(await browser.open(`${base}/login`))), email: 'ada@example.com' }
  const order: string[] = []
  const logins = Array.from({ length: 60 }, async () => {
    const { status } = await browser.post(`${base}/login`, { ...form, password: 'wrong' })
    order.push('login')
    return status
  })
  await until(() => order.length > 0)
  const tokens = Array.from({ length: 30 }, async () => {
    const { status } = await machineToken(at, client)
    order.push('token')
    return status
  })
  expect(new Set(await Promise.all(tokens))).toEqual(new Set([200]))
  expect(new Set(await Promise.all(logins))).toEqual(new Set([422]))
  expect(order.lastIndexOf('token')).toBeLessThan(order.lastIndexOf('login'))
})

test.each(['uws', 'node'])(
  'on %s four hundred clients that send a byte at a time do not delay other requests',
  async (engine) => {
    const { at, client, port } = await running({
      SERVICE_SERVER_HTTP_ENGINE: engine,
      SERVICE_SERVER_READ_TIMEOUT: '2s',
    })
    const request = tokenRequest(client)
    const half = (i: number) => (i % 2 === 0 ? request.slice(0, 30) : request.slice(0, -20))
    const wires = await Promise.all(Array.from({ length: 400 }, () => Wire.open(port)))
    wires.forEach((wire, i) => {
      wire.send(half(i))
    })
    const drip = setInterval(() => {
      for (const wire of wires) if (!wire.isClosed) wire.send('a')
    }, 200)
    try {
      const answers = await Promise.all(Array.from({ length: 50 }, () => machineToken(at, client)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      for (const probe of PROBES) expect((await fetch(at.instance.base + probe)).status).toBe(200)
      expect(countOf(wires, /^HTTP\/1\.1 200/)).toBe(0)
      // Requests with a complete head are cut by the timeout for the whole request.
      await until(() => wires.every(({ isClosed }, i) => i % 2 === 0 || isClosed))
      expect((await machineToken(at, client)).status).toBe(200)
    } finally {
      clearInterval(drip)
      for (const wire of wires) wire.leave()
    }
  },
)
