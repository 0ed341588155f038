// What events cost and how fast they are. First the tokens for the same CPU time with a polled stream and without one, in alternation.
// Then the time from `admin revoke` to the refusal at a resource server that uses the package, by poll and by push, while other clients
// get tokens at a fixed rate. `node dist/bench/peers/events.js [seconds] [rounds] [revocations] [tokens per second]`
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verifier } from '../../packages/resource-server/src/index.ts'
import type { Histogram } from '../../src/lib/histogram.ts'
import { callLoopback } from '../load/loopback.ts'
import { type BenchTarget, HOT_CLIENTS, type Machine } from '../load/target.ts'
import { stopAll } from '../run/children.ts'
import { startService } from '../run/service.ts'
import { newLatencies, percentilesOf } from '../statistics.ts'
import { CONNECTIONS, compareInTurns } from './in_turns.ts'

const KIT = new URL('../../../packages/resource-server/dist/index.js', import.meta.url).href
type Kit = typeof import('../../packages/resource-server/src/index.ts')

const [seconds = 10, rounds = 5, revocations = 50, rate = 1000] = process.argv.slice(2).map(Number)
/** The load average of the last minute. */
const load = () => loadavg()[0]?.toFixed(1)
const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) })

async function startTarget(): Promise<BenchTarget> {
  const env = { ...process.env, SERVICE_EVENTS_ALLOW_HOSTS: '127.0.0.1' }
  return (await startService({ clients: { hot: HOT_CLIENTS, cold: revocations * 2 + 1 }, alg: 'ES256', env }))[0]
}

function operate(target: BenchTarget, method: string, path: string, body?: object): Promise<Response> {
  const admin = target.probe().admin
  if (!admin) throw new Error('the admin API is needed')
  const headers = { authorization: `Bearer ${admin.key}`, 'content-type': 'application/json' }
  return callLoopback(`${admin.base}/admin/${path}`, { method, headers, body: body && JSON.stringify(body) })
}

/** The last cold client as the server of the resource. */
async function serverOf(target: BenchTarget): Promise<Machine> {
  const server = target.coldMachines.at(-1)
  const resources = (await (await operate(target, 'GET', 'resources')).json()) as { slug: string; uri: string }[]
  const slug = resources.find(({ uri }) => uri === target.resource)?.slug
  if (!server || !slug) throw new Error('there is no resource')
  const answer = await operate(target, 'POST', `resources/${slug}/policy/runtime/client-ids`, {
    client_id: server.client_id,
  })
  if (!answer.ok) throw new Error(`the policy was not set: ${await answer.text()}`)
  return server
}

/** A verifier of the package that subscribes to revocations. By push it listens on loopback. */
async function startVerifier(target: BenchTarget, server: Machine, isPushed: boolean) {
  const { createVerifier } = (await import(KIT)) as Kit
  const as = { clientId: server.client_id, clientSecret: server.client_secret }
  const at: { verifier?: Verifier } = {}
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = new Headers(request.headers as Record<string, string>)
    const pushed = new Request('http://localhost/events', { method: 'POST', headers, body: Buffer.concat(chunks) })
    response.writeHead((await at.verifier?.receive(pushed))?.status ?? 500).end()
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const push = `http://127.0.0.1:${(http.address() as AddressInfo).port}/events`
  const revocationsOf = { ...as, delivery: isPushed ? { push } : ('poll' as const) }
  at.verifier = createVerifier({ issuer: target.base, resource: target.resource ?? '', revocations: revocationsOf })
  const close = async () => {
    await at.verifier?.close()
    http.close()
  }
  return { verifier: at.verifier, close }
}

async function compareCost(): Promise<void> {
  const [on, off] = [await startTarget(), await startTarget()]
  const { close } = await startVerifier(on, await serverOf(on), false)
  console.log(`with a stream / without: ${await compareInTurns(on, off, { seconds, rounds })}, load ${load()}`)
  await close()
  for (const target of [on, off]) await target.stop()
}

/** Requests tokens at a fixed rate until it is stopped. Returns a function that stops it and says how many tokens it got. */
function keepBusy({ base, paths, machines, scope = '', resource = '' }: BenchTarget): () => string {
  let [sent, issued, failed, inFlight] = [0, 0, 0, 0]
  const began = performance.now()
  const timer = setInterval(() => {
    for (const due = ((performance.now() - began) / 1000) * rate; sent < due && inFlight < CONNECTIONS; sent++) {
      inFlight++
      const asked = form({ grant_type: 'client_credentials', ...machines[sent % machines.length], scope, resource })
      callLoopback(base + paths.token, asked)
        .then(async (answer) => {
          await answer.arrayBuffer()
          if (answer.ok) issued++
          else failed++
        })
        .catch(() => failed++)
        .finally(() => inFlight--)
    }
  }, 5)
  return () => {
    clearInterval(timer)
    const perSecond = Math.round(issued / ((performance.now() - began) / 1000))
    return `${perSecond} tokens/s${failed > 0 ? `, ${failed} requests failed` : ''}`
  }
}

async function tokenOf({ base, paths, scope = '', resource = '' }: BenchTarget, machine: Machine): Promise<string> {
  const asked = form({ grant_type: 'client_credentials', ...machine, scope, resource })
  const { access_token } = (await (await callLoopback(base + paths.token, asked)).json()) as { access_token: string }
  return access_token
}

async function measureLatency(isPushed: boolean): Promise<void> {
  const target = await startTarget()
  const { verifier, close } = await startVerifier(target, await serverOf(target), isPushed)
  const isAccepted = (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return verifier.verify({ method: 'POST', url: '/', headers }).then(
      () => true,
      () => false,
    )
  }
  const stopLoad = keepBusy(target)
  const [fromRequest, fromAnswer] = [newLatencies(), newLatencies()]
  for (const machine of target.coldMachines.slice(0, revocations)) {
    const token = await tokenOf(target, machine)
    while (!(await isAccepted(token))) await sleep(20)
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }
    const asked = performance.now()
    await operate(target, 'DELETE', `issuances/${jti}`)
    const answered = performance.now()
    while (await isAccepted(token)) await sleep(2)
    fromRequest.record(performance.now() - asked)
    fromAnswer.record(performance.now() - answered)
  }
  const say = (latencies: Histogram) => {
    const { p50, p99 } = percentilesOf(latencies)
    return `p50 ${Math.round(p50)} ms, p99 ${Math.round(p99)} ms`
  }
  console.log(
    `${isPushed ? 'push' : 'poll'}: from the request ${say(fromRequest)}; from its answer ${say(fromAnswer)} (${revocations} revocations, ${stopLoad()}, load ${load()})`,
  )
  await close()
  await target.stop()
}

try {
  if (rounds > 0) await compareCost()
  for (const isPushed of [false, true]) if (revocations > 0) await measureLatency(isPushed)
} finally {
  await stopAll()
}
process.exit(0)
