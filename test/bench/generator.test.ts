// The load generator as a process, against a server with known delay and answers. Only bounds that hold on any machine.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { FeedPlan } from '../../bench/load/feeds.ts'
import { loopbackUrl } from '../../bench/load/loopback.ts'
import { nextMessage, startFile, stopAll } from '../../bench/run/children.ts'
import type { Sample } from '../../bench/run/sample.ts'

const DELAY_MS = 40
let server: Server | undefined
afterEach(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())))
afterAll(stopAll)

const serve = (answer: (number: number) => { status: number; body: string }) =>
  new Promise<string>((resolve) => {
    let asked = 0
    const started = createServer((_request, response) => {
      const { status, body } = answer(asked++)
      setTimeout(() => {
        response.writeHead(status, { 'content-length': body.length })
        response.end(body)
      }, DELAY_MS)
    })
    server = started
    started.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(started.address() as AddressInfo).port}`))
  })

async function generate(base: string, loop: { seconds: number; rate?: number }): Promise<Sample> {
  const feed: FeedPlan = { kind: 'same', path: '/token', forms: ['a=1', 'a=2'], expected: 'token' }
  const login = { authorizePath: '', cookie: '', tokenPath: '', codeForm: '', refreshForm: '' }
  const child = startFile('generator', { base, login, feed, probe: {}, connections: 4 })
  await nextMessage(child, 30)
  child.send(loop)
  const sample = (await nextMessage(child, 60)) as Sample
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.disconnect()
  await gone
  return sample
}
const token = { status: 200, body: '{"access_token":"x"}' }

test('a closed loop is never faster than the delay of the server allows, and counts every answer', async () => {
  const { loop, answers, errors, per_s, latency_ms } = await generate(await serve(() => token), { seconds: 1 })
  expect([loop, errors]).toEqual(['closed', 0])
  expect(answers).toBeGreaterThan(0)
  // Four connections, each at most once in forty milliseconds; timers may fire a millisecond early.
  expect(per_s).toBeLessThanOrEqual((4 * 1000) / (DELAY_MS - 1))
  expect(latency_ms.p50).toBeGreaterThanOrEqual(DELAY_MS - 1)
})

test('an open loop sends at the configured rate, and latency includes the wait for a free connection', async () => {
  // Twice the rate that four connections can carry.
  const { loop, answers, errors, latency_ms } = await generate(await serve(() => token), { seconds: 1, rate: 200 })
  expect([loop, answers + errors]).toEqual(['open', 200])
  expect(latency_ms.p99).toBeGreaterThan(5 * DELAY_MS)
})

test('an unexpected answer is counted and reported as an error', async () => {
  const half = await serve((number) => (number % 2 ? token : { status: 400, body: '{"error":"invalid_client"}' }))
  const { answers, errors, first_error } = await generate(half, { seconds: 1 })
  expect(answers).toBeGreaterThan(0)
  expect(errors).toBeGreaterThan(0)
  expect(first_error).toBe('400 {"error":"invalid_client"}')
})

test('the load generator refuses a target on another machine', () => {
  for (const url of [
    'http://192.168.1.10:9000',
    'https://auth.example.com',
    'http://10.0.0.1',
    'http://localhost.example.com',
  ])
    expect(() => loopbackUrl(url)).toThrow('is another machine')
})
