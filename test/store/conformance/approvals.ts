// Rules of approvals (CIBA).
import { expect, test } from 'vitest'
import { newBearer, newId } from '../../../src/lib/id.ts'
import { aClient, anApproval, aRequest, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const BOUNDS = { open: 3, denied: 2, within: 3600 }

export function approvalRules(bench: Bench): void {
  const create = (request: ReturnType<typeof anApproval>) => bench.store.createApproval({ ...request, bounds: BOUNDS })
  const add = async (more: Parameters<typeof anApproval>[0] = {}) => {
    const request = anApproval(more)
    expect(await create(request)).toBe(0)
    return request
  }
  const find = (id: string) => bench.store.findPolledRequest({ id })
  const open = (user_id: string, now = NOW) => bench.store.listOpenApprovals({ user_id, now, limit: 10 })

  test('an approval is found as it was asked for, by its person as long as it is open', async () => {
    const request = await add({ authorization_details: [{ type: 'payment' }] })
    const { user_id = '' } = request.approval
    expect(await find(request.id)).toEqual(request)
    expect(await open(user_id)).toEqual([request])
    expect(await bench.store.countOpenApprovals({ user_id, now: NOW })).toBe(1)
    expect(await open(user_id, request.expires_at)).toEqual([])
    const unknown = await add({ approval: { person: newBearer('ap').hash, user_id: undefined } })
    expect(await find(unknown.id)).toMatchObject({ approval: { person: unknown.approval.person } })
  })

  test('of requests at the same time to one person as many are open as may be; others wait for the first end', async () => {
    const client = aClient()
    await bench.store.createClient(client)
    const person = newBearer('ap').hash
    const ask = (more: Parameters<typeof anApproval>[0] = {}) =>
      create(anApproval({ client_id: client.client_id, approval: { person }, ...more }))
    const waits = await Promise.all(Array.from({ length: 8 }, () => ask()))
    expect(waits.toSorted((a, b) => a - b)).toEqual([0, 0, 0, ...Array<number>(5).fill(600)])
    expect(await ask({ client_id: newId() })).toBe(0)
    expect(await ask({ approval: { person: newBearer('ap').hash } })).toBe(0)
    expect(await ask({ created_at: NOW + 600, expires_at: NOW + 700 })).toBe(0)
  })

  test('after denials of the person the client waits; what an operator denies does not count', async () => {
    const to = { client_id: newId(), approval: { person: newBearer('ap').hash } }
    const deny = async (denied_at?: number) => {
      const { id } = await add(to)
      expect(await bench.store.denyApproval({ id, now: NOW, denied_at })).toBe(true)
      expect(await bench.store.denyApproval({ id, now: NOW, denied_at })).toBe(false)
    }
    await deny()
    await deny(NOW - 60)
    await deny(NOW)
    expect(await create(anApproval(to))).toBe(3600 - 60)
    expect(await create(anApproval({ ...to, created_at: NOW + 3541, expires_at: NOW + 4000 }))).toBe(0)
  })

  test('an approval is allowed or denied once, and not after its end', async () => {
    const [allowed, late] = [await add(), await add()]
    const allow = ({ id, hash, expires_at, client_id }: typeof allowed, now = NOW) => {
      const request = aRequest({ id, client_id, user_id: aUser().id, redirect_uri: '', expires_at })
      const more = { session_id: newId(), scope: 'files:read', code_hash: hash, code_expires_at: expires_at }
      return bench.store.allowApproval({ ...more, request, id, now })
    }
    const decisions = await Promise.all([allow(allowed), allow(allowed)])
    expect(decisions.toSorted()).toEqual([false, true])
    expect(await bench.store.denyApproval({ id: allowed.id, now: NOW })).toBe(false)
    expect((await bench.store.findCode({ id: allowed.id }))?.request.scope).toBe('files:read')
    expect([await allow(late, NOW + 600), await bench.store.denyApproval({ id: late.id, now: NOW + 600 })]).toEqual([
      false,
      false,
    ])
    expect(await bench.store.findCode({ id: late.id })).toBeUndefined()
  })

  test('the end of an undecided approval is recorded once', async () => {
    const { store, close } = await bench.open()
    const [{ id, expires_at }, decided] = [anApproval(), anApproval()]
    for (const request of [{ ...decided }, anApproval({ id, expires_at })])
      await store.createApproval({ ...request, bounds: BOUNDS })
    await store.denyApproval({ id: decided.id, now: NOW })
    expect(await store.listExpiredApprovals({ now: expires_at - 1, limit: 10 })).toEqual([])
    expect((await store.listExpiredApprovals({ now: expires_at, limit: 10 })).map((each) => each.id)).toEqual([id])
    expect([await store.expireApproval({ id }), await store.expireApproval({ id })]).toEqual([true, false])
    expect(await store.listExpiredApprovals({ now: expires_at, limit: 10 })).toEqual([])
    const states = (now: number) =>
      Promise.all(
        (['pending', 'granted', 'denied', 'expired'] as const).map(
          async (status) => (await store.listApprovals({ status, now, limit: 10 })).length,
        ),
      )
    expect(await states(expires_at)).toEqual([0, 0, 1, 1])
    await close()
  })

  test('the deletion of a user deletes what the user was asked', async () => {
    const user = aUser()
    await bench.store.createUser(user)
    const { id } = await add({ approval: { user_id: user.id, person: newBearer('ap').hash } })
    await bench.store.deleteUser({ id: user.id, force: true, now: NOW })
    expect(await find(id)).toBeUndefined()
  })
}
