// Rules of device authorization requests (RFC 8628).
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { NewPolledRequest } from '../../../src/store/tokens/polled_requests.ts'
import { aDeviceRequest, aFamily, aRequest, aUser, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const MS = NOW * 1000

export function deviceRequestRules(bench: Bench): void {
  const add = async (more: Partial<NewPolledRequest> = {}) => {
    const device = aDeviceRequest(more)
    expect(await bench.store.createPolledRequest(device)).toBe(true)
    return device
  }
  const find = (id: string) => bench.store.findPolledRequest({ id })
  const findByCode = ({ user_code_hash }: NewPolledRequest, now = NOW) =>
    bench.store.findPolledRequestByUserCode({ user_code_hash, now })
  const requestOf = ({ id, hash: _, ...device }: NewPolledRequest, user_id = aUser().id) =>
    aRequest({ id, client_id: device.client_id, user_id, redirect_uri: '', expires_at: device.expires_at })
  const claim = (device: NewPolledRequest, user_id?: string, now = NOW) =>
    bench.store.claimPolledRequest({ request: requestOf(device, user_id), now })
  const approvalOf = (id: string) => ({ id, session_id: newId(), scope: 'files:read' })
  const approve = ({ id, hash, expires_at }: NewPolledRequest, now = NOW) =>
    bench.store.approvePolledRequest({ ...approvalOf(id), code_hash: hash, code_expires_at: expires_at, now })
  const deny = ({ id }: NewPolledRequest, now = NOW) => bench.store.denyPolledRequest({ id, now })

  test('a device request is found by its id, and by its user code until it expires', async () => {
    for (const device of [await add({ dpop_jkt: 'jkt' }), await add({ resource: undefined, user_agent: undefined })]) {
      expect(await find(device.id)).toEqual(device)
      expect(await findByCode(device)).toEqual(device)
      expect(await findByCode(device, NOW + 599)).toBeDefined()
      expect(await findByCode(device, NOW + 600)).toBeUndefined()
    }
    expect(await find(newId())).toBeUndefined()
    expect(await findByCode(aDeviceRequest())).toBeUndefined()
  })

  test('a user code that another request has is not taken again', async () => {
    const { user_code_hash } = await add()
    const second = aDeviceRequest({ user_code_hash })
    expect(await bench.store.createPolledRequest(second)).toBe(false)
    expect(await find(second.id)).toBeUndefined()
  })

  test('a poll before its time is slow_down, and each of them makes the interval five seconds longer', async () => {
    const { id } = await add()
    const polls = [0, 5000, 9999, 19_998, 29_998, 44_998]
    const answers: string[] = []
    for (const ms of polls) answers.push(await bench.store.pollPolledRequest({ id, now_ms: MS + ms }))
    expect(answers).toEqual(['pending', 'pending', 'slow_down', 'slow_down', 'slow_down', 'slow_down'])
    expect((await find(id))?.wait).toBe(25)
    expect(await bench.store.pollPolledRequest({ id, now_ms: MS + 44_998 + 25_000 })).toBe('pending')
  })

  test('polls at the same time, over two processes, are one in time and the others too early', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    const device = aDeviceRequest()
    await store.createPolledRequest(device)
    const answers = await Promise.all(
      [store, other.store, store, other.store].map((each) => each.pollPolledRequest({ id: device.id, now_ms: MS })),
    )
    expect(answers.sort()).toEqual(['pending', 'slow_down', 'slow_down', 'slow_down'])
    expect((await store.findPolledRequest({ id: device.id }))?.wait).toBe(20)
    await other.close()
    await close()
  })

  test('the last user who enters the code decides; the browser of the one before cannot', async () => {
    const [device, first, second] = [await add(), aUser(), aUser()]
    expect(await claim(device, first.id)).toBe(true)
    expect(await claim(device, second.id)).toBe(true)
    const pending = await bench.store.findAuthorizationRequest({ id: device.id })
    expect(pending?.user_id).toBe(second.id)
  })

  test('an approved device request becomes a code that is redeemed once', async () => {
    const device = await add()
    await claim(device)
    expect(await approve(device)).toBe(true)
    expect((await find(device.id))?.decision).toBe('approved')
    expect(await findByCode(device)).toBeUndefined()
    const found = await bench.store.findCode({ id: device.id })
    expect(found?.request).toMatchObject({ code_hash: device.hash, code_expires_at: device.expires_at })
    const redeem = () => {
      const family = aFamily({ client_id: device.client_id, authorization_id: device.id })
      return bench.store.redeemCode({ family, issuance: issuanceOf(family), now: NOW })
    }
    expect((await Promise.all([redeem(), redeem()])).sort()).toEqual(['redeemed', 'used'])
  })

  test('a device request is decided once: of approvals, denials and claims at the same time one decision holds', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    for (let round = 0; round < 10; round++) {
      const device = aDeviceRequest()
      await store.createPolledRequest(device)
      await store.claimPolledRequest({ request: requestOf(device), now: NOW })
      const { id, hash, expires_at } = device
      const approval = { ...approvalOf(id), code_hash: hash, code_expires_at: expires_at, now: NOW }
      const [denied, ...approved] = await Promise.all([
        other.store.denyPolledRequest({ id, now: NOW }),
        store.approvePolledRequest(approval),
        other.store.approvePolledRequest(approval),
        store.claimPolledRequest({ request: requestOf(device), now: NOW }).then(() => false),
      ])
      expect([denied, ...approved].filter(Boolean).length).toBe(1)
      expect((await store.findPolledRequest({ id }))?.decision).toBe(denied ? 'denied' : 'approved')
      expect((await store.findCode({ id })) === undefined).toBe(denied)
      expect(await store.claimPolledRequest({ request: requestOf(device), now: NOW })).toBe(false)
    }
    await other.close()
    await close()
  })

  test('a device request that was denied, or has expired, cannot be claimed or approved', async () => {
    const [denied, expired] = [await add(), await add()]
    await claim(denied)
    expect(await deny(denied)).toBe(true)
    expect((await find(denied.id))?.decision).toBe('denied')
    expect([await claim(denied), await approve(denied), await deny(denied)]).toEqual([false, false, false])
    await claim(expired)
    const late = NOW + 600
    expect([await claim(expired, undefined, late), await approve(expired, late)]).toEqual([false, false])
    expect(await bench.store.findCode({ id: expired.id })).toBeUndefined()
  })

  test('a purge deletes device requests a day after they expired', async () => {
    const { store, close } = await bench.open()
    const device = aDeviceRequest()
    await store.createPolledRequest(device)
    const purge = (now: number) => store.purgeWindow({ target: 'device-codes', table: 0, after: '', rows: 100, now })
    expect(await purge(device.expires_at + 86_399)).toEqual({ deleted: 0 })
    expect(await purge(device.expires_at + 86_400)).toEqual({ deleted: 1 })
    expect(await store.findPolledRequest({ id: device.id })).toBeUndefined()
    await close()
  })
}
