// Limits of clients in a process of its own: after a kill, and after a reload of the configuration.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type Placed, placed } from '../support/instances.ts'
import { newMachine, operate } from '../torture/scene.ts'

/** The statuses of token requests, one after the other. */
async function statusesOf(at: Placed, client: Parameters<typeof machineToken>[1], times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) statuses.push((await machineToken(at, client)).status)
  return statuses
}
const limited = async (at: Placed, limits: object) => {
  const client = await newMachine(at.admin, ['client_credentials'])
  await operate(at.admin, 'PATCH', `clients/${client.client_id}`, { limits })
  return client
}

test('the tokens of a day count on after SIGKILL', async () => {
  const folder = tempFolder()
  const at = await placed(folder)
  await at.instance.start()
  const client = await limited(at, { tokens_per_day: 4 })
  expect(await statusesOf(at, client, 3)).toEqual([200, 200, 200])
  const database = new Database(path.join(folder, 'service.db'), { readonly: true })
  const written = () => database.prepare('SELECT tokens FROM client_token_counts').get()
  await expect.poll(written, { timeout: 10_000 }).toEqual({ tokens: 3 })
  database.close()
  await at.instance.kill()
  await at.instance.start()
  expect(await statusesOf(at, client, 3)).toEqual([200, 429, 429])
  await at.instance.kill('SIGTERM')
})

test('a reload changes the default limits, and not the limits of a client', async () => {
  const folder = tempFolder()
  const file = path.join(folder, 'service.yaml')
  const configure = (tokens: number) =>
    writeFileSync(file, JSON.stringify({ rate_limit: { per_client_tokens_per_day: tokens } }))
  configure(0)
  const at = await placed(folder, { SERVICE_RATE_LIMIT_ENABLED: 'true' })
  await at.instance.start(['--config', file])
  const [plain, own] = [await newMachine(at.admin, ['client_credentials']), await limited(at, { tokens_per_day: 3 })]
  expect(await statusesOf(at, plain, 2)).toEqual([200, 200])
  configure(1)
  const reloaded = await operate<{ applied: string[] }>(at.admin, 'POST', 'system/config/reload')
  expect(reloaded.applied).toEqual(['rate_limit.per_client_tokens_per_day'])
  expect(await statusesOf(at, plain, 2)).toEqual([200, 429])
  expect(await statusesOf(at, own, 4)).toEqual([200, 200, 200, 429])
  await at.instance.kill('SIGTERM')
})
