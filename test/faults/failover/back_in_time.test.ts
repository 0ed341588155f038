// A database that went back in time under two instances: a failover that lost what operators did, two primaries at once, a
// backup in the place of the database. What one instance changes afterwards is known at the other within the bound.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STALE_MS } from '../../../src/store/cache.ts'
import { eventually } from '../../support/wire.ts'
import type { Machine } from '../../torture/history.ts'
import type { Instance } from '../../torture/instance.ts'
import { newMachine, operate } from '../../torture/scene.ts'
import { Lab } from './lab.ts'
import { programsOf } from './server.ts'

/** Time that the checks may need on a busy machine in addition to the bound. */
const MARGIN_MS = 2000
const TEST_MS = 240_000

const programs = programsOf('15')
const LEFT_OUT = typeof programs === 'string' ? programs : ''

let lab: Lab
beforeEach(async () => {
  if (LEFT_OUT) return void process.stdout.write(`${LEFT_OUT}\n`)
  lab = await new Lab({ version: '15', max_conns: 5, synchronous: false }).open()
})
afterEach(() => lab?.close())

const tokenAt = async ({ base }: Instance, machine: Machine): Promise<number> => {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...machine })
  const answer = await fetch(`${base}/oauth/token`, { method: 'POST', body }).catch(() => undefined)
  await answer?.arrayBuffer()
  return answer?.status ?? 0
}
const suspend = (admin: string, { client_id }: Machine, how = 'suspend') =>
  operate(admin, 'PATCH', `clients/${client_id}/${how}`)

/** Increments the versions at one instance, and waits until they have the earlier value. */
async function change(admin: string, machine: Machine): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await suspend(admin, machine)
    await suspend(admin, machine, 'reactivate')
  }
}

/** Both instances issue tokens, and each receives the invalidations of the other. */
async function hearEachOther({ instances, admins, scene }: Lab): Promise<void> {
  for (const instance of instances)
    await eventually(async () => (await tokenAt(instance, scene.machine)) === 200, 60_000)
  for (const [from, to] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const [admin, other] = [admins[from] as string, instances[to] as Instance]
    const machine = await newMachine(admin, ['client_credentials'])
    await eventually(async () => (await tokenAt(other, machine)) === 200)
    await suspend(admin, machine)
    await eventually(async () => (await tokenAt(other, machine)) === 401, STALE_MS + MARGIN_MS)
  }
}

describe('after', () => {
  test('after a failover that lost operator changes, each instance receives the changes of the other', {
    timeout: TEST_MS,
  }, async ({ skip }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    await lab.standby.stop()
    for (const admin of lab.admins) await change(admin, lab.scene.machine)
    const late = await newMachine(lab.admins[0] as string, ['client_credentials'])
    await lab.primary.kill()
    await lab.standby.start()
    await lab.standby.promote()
    await hearEachOther(lab)
    // The change was answered and is lost: no instance issues tokens from its cache.
    for (const instance of lab.instances) expect(await tokenAt(instance, late)).toBe(401)
  })

  test('after two concurrent primaries, each instance receives the changes of the other', { timeout: TEST_MS }, async ({
    skip,
  }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    const [, second] = lab.instances as [Instance, Instance]
    await lab.standby.promote()
    // The second instance loses the old primary, the first one continues to use it.
    lab.lines[1].stall()
    await eventually(
      async () =>
        (await lab.standby.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'instance-1'")).length > 1,
      30_000,
    )
    await eventually(async () => (await tokenAt(second, lab.scene.machine)) === 200, 60_000)
    await change(lab.admins[0] as string, lab.scene.machine)
    await lab.primary.kill()
    await hearEachOther(lab)
  })

  test('after a restored backup, each instance receives the changes of the other', { timeout: TEST_MS }, async ({
    skip,
  }) => {
    skip(LEFT_OUT !== '', LEFT_OUT)
    const backup = await lab.primary.backup(lab.primary.port)
    for (const admin of lab.admins) await change(admin, lab.scene.machine)
    await lab.standby.stop()
    await lab.primary.stop()
    await backup.start()
    await hearEachOther(lab)
    await backup.remove()
  })
})
