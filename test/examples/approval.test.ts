// examples/approval as its guide says to run it: an agent pays after a person has approved this payment, once, and no other one.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { APPROVALS, addAgent, decideOn, inboxOf, requestsOn } from '../support/approvals.ts'
import { signedIn } from '../support/documents.ts'
import { machineToken } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

const PAYMENT = {
  type: 'payment',
  description: 'Payments',
  display: ['Pay {amount} {currency} to {creditor}'],
  schema: {
    type: 'object',
    required: ['amount', 'currency', 'creditor'],
    properties: { amount: { type: 'string' }, currency: { type: 'string' }, creditor: { type: 'string' } },
  },
}
const file = (name: string) => path.join(packageRoot, 'examples/approval', name)

let service: TestService
let bank: { uri: string; stop(): void }
beforeAll(async () => {
  service = await startService({ ...APPROVALS, SERVICE_CIBA_INTERVAL: '1s' })
  const port = await freePort()
  const child = spawn(process.execPath, [file('bank.mjs')], {
    env: { PATH: process.env['PATH'], PORT: String(port), ISSUER: service.issuer },
    stdio: 'ignore',
  })
  const origin = `http://localhost:${port}`
  bank = { uri: `${origin}/mcp`, stop: () => void child.kill() }
  await vi.waitFor(async () => expect((await fetch(`${origin}/health`)).status).toBe(200), { timeout: 30_000 })
  await addResource(service, { uri: bank.uri, slug: 'bank', scopes: [], authorization_details_types: [PAYMENT] })
})
afterAll(async () => {
  bank.stop()
  await service.close()
})

/** Starts the agent. */
function startAgent(client: { client_id: string; client_secret?: string }, ...args: string[]) {
  const { client_id, client_secret = '' } = client
  const child = spawn(process.execPath, [file('agent.mjs'), ...args], {
    env: {
      ...{ PATH: process.env['PATH'], ISSUER: service.issuer, BANK: bank.uri },
      ...{ CLIENT_ID: client_id, CLIENT_SECRET: client_secret },
    },
  })
  const run = { said: '', ended: new Promise<number | null>((resolve) => child.on('exit', resolve)) }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      run.said += text
    })
  return run
}

test('a call without the details of its payment is refused, also in a list of requests', async () => {
  const client = await addClient(service, { grant_types: ['client_credentials'] })
  const ada = { amount: '1.00', currency: 'EUR', creditor: 'Ada' }
  const details = JSON.stringify([{ type: 'payment', ...ada }])
  const { body } = await machineToken(service, client, { resource: bank.uri, authorization_details: details })
  const headers = {
    authorization: `Bearer ${body['access_token']}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'pay', arguments: { ...ada, amount: '9.00' } },
  }
  const send = (message: unknown) => fetch(bank.uri, { method: 'POST', headers, body: JSON.stringify(message) })
  const refused = await send(call)
  expect([refused.status, (await send([call])).status]).toEqual([403, 400])
  expect(await refused.json()).toMatchObject({
    error: { data: { authorization: { remediationHints: [{ authorization_details: [{ ...ada, amount: '9.00' }] }] } } },
  })
  const pay = async () => (await send({ ...call, params: { name: 'pay', arguments: ada } })).text()
  expect([await pay(), await pay()]).toEqual([expect.stringContaining('Paid 1.00'), expect.stringContaining('already')])
})

test('the agent pays what the person has approved, and nothing if the person denies it', async () => {
  const [client, user] = [await addAgent(service), await addUser(service)]
  const browser = await signedIn(service, user)
  for (const [action, code, said] of [
    ['allow', 0, `Paid 30.50 EUR to Ada Lovelace for ${user.id}.`],
    ['deny', 1, 'not approved'],
  ] as const) {
    const agent = startAgent(client, user.email, '30.50', 'EUR', 'Ada Lovelace')
    await vi.waitFor(async () => expect(requestsOn(await inboxOf(service, browser))).toHaveLength(1), 20_000)
    await decideOn(service, browser, action, { about: 'Ada Lovelace' })
    expect([await agent.ended, agent.said]).toEqual([code, expect.stringContaining(said)])
  }
})
