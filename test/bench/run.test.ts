// A run of the built binary beside peers that cannot be measured, interrupted during its climb: the measurements are kept.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../../bench/load/target.ts'
import { readReport } from '../../bench/report/report.ts'
import { programFile } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'

const refusing = createServer((_request, response) => response.writeHead(401).end('{"error":"invalid_client"}'))
afterAll(() => void refusing.close())

test('a failing peer does not affect the row of the service, and an interrupted run keeps its completed steps', async () => {
  refusing.listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  const dead = `http://127.0.0.1:${await freePort()}/token`
  const refuser = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/token`
  const peers = Object.entries({ dead, refuser }).flatMap(([name, url]) => {
    const { origin, pathname } = new URL(url)
    return ['--peer', `${name}=${origin},${pathname},id,wrong`]
  })
  const out = path.join(tempFolder(), 'report.json')
  const args = ['bench', 'client_credentials', 'metadata', '--smoke', '--service-only', '--slo-p99', '60s', ...peers]
  const child = spawn(process.execPath, [programFile('service'), ...args, '--out', out], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  let ended = false
  const steps = () => said.match(/client_credentials, at \d+\/s: /g) ?? []
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (ended || steps().length < 2) return
    ended = true
    child.kill('SIGINT')
  })
  const [code] = await once(child, 'close')
  expect(code, said).toBe(130)
  const { partial, results } = readReport(out)
  expect(partial).toBe(true)
  expect(results.map(({ server }) => server)).toEqual(['service', 'dead', 'refuser'])
  const [service, unreachable, refused] = results
  expect(service?.failed).toBeUndefined()
  expect(service?.rounds).toHaveLength(1)
  expect(service?.ladder).toHaveLength(steps().length)
  expect(service?.knee?.offered_per_s).toBe(service?.ladder.at(-1)?.offered_per_s)
  expect(unreachable?.failed).toContain(`${dead} does not answer: connect ECONNREFUSED`)
  expect(refused?.failed).toContain(`POST ${refuser} answered 401`)
})
