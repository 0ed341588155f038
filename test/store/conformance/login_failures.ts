// Rules of failed logins.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { FailureKey } from '../../../src/store/people/login_failures.ts'
import { aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const limits = { window: 600, max: 3, lockout: 900, expired_before: NOW - 600 }

export function loginFailureRules(bench: Bench): void {
  const fail = (key: FailureKey, now = NOW, user_id?: string) =>
    bench.store.addLoginFailure({ key, now, user_id, ...limits })
  const find = (key: FailureKey, now = NOW) => bench.store.findLoginFailures({ key, now, window: limits.window })
  const lockouts = async (now = NOW) => bench.store.listLockouts({ now, limit: 1000, offset: 0 })
  const lockout = async (key: { address: string } | { user_id: string }, now = NOW) =>
    (await lockouts(now)).find((each) =>
      'address' in key ? each.address === key.address : each.user_id === key.user_id,
    )

  for (const kind of ['address', 'account'] as const) {
    const newKey = (): FailureKey => (kind === 'address' ? { address: newId() } : { account: newId() })

    test(`the last failure that is allowed locks the ${kind}, and no other one; each further failure prolongs it`, async () => {
      const [key, other] = [newKey(), newKey()]
      expect([await fail(key), await fail(key), await fail(other)]).toEqual([false, false, false])
      expect(await find(key)).toEqual({ failures: 2, locked_until: 0 })
      expect(await fail(key)).toBe(true)
      expect(await find(key)).toEqual({ failures: 3, locked_until: NOW + 900 })
      expect(await find(other)).toEqual({ failures: 1, locked_until: 0 })
      expect(await fail(key, NOW + 800)).toBe(false)
      expect(await find(key, NOW + 800)).toEqual({ failures: 4, locked_until: NOW + 1700 })
    })

    test(`failures of the ${kind} before the window and before the end of a lockout do not count`, async () => {
      const key = newKey()
      await fail(key)
      await fail(key)
      expect(await find(key, NOW + 600)).toEqual({ failures: 0, locked_until: 0 })
      expect(await fail(key, NOW + 600)).toBe(false)
      expect((await find(key, NOW + 600)).failures).toBe(1)
      await fail(key, NOW + 600)
      await fail(key, NOW + 600)
      expect(await find(key, NOW + 1500)).toEqual({ failures: 0, locked_until: 0 })
      expect(await fail(key, NOW + 1500)).toBe(false)
      expect(await find(key, NOW + 1500)).toEqual({ failures: 1, locked_until: 0 })
    })
  }

  test('a sign-in forgives the failures of its address at its account, and no others', async () => {
    const [address, mine, theirs] = [newId(), newId(), newId()]
    const failAt = async (account: string) => {
      await fail({ address })
      await fail({ address, account })
    }
    await failAt(mine)
    await failAt(theirs)
    const forgive = (account: string) => bench.store.forgiveLoginFailures({ address, account, now: NOW, window: 600 })
    await forgive(mine)
    expect((await find({ address })).failures).toBe(1)
    await forgive(mine)
    expect((await find({ address })).failures).toBe(1)
    await fail({ address })
    await fail({ address })
    await forgive(theirs)
    expect(await find({ address })).toEqual({ failures: 3, locked_until: NOW + 900 })
  })

  test('an address and an account with the same text are counted apart', async () => {
    const text = newId()
    for (let i = 0; i < 3; i++) await fail({ account: text })
    expect(await find({ address: text })).toEqual({ failures: 0, locked_until: 0 })
  })

  test('of failures at the same time, over two processes, every one counts', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    const key = { address: newId() }
    const failures = Array.from({ length: 12 }, (_, i) =>
      (i % 2 ? store : other.store).addLoginFailure({ key, now: NOW, ...limits }),
    )
    expect((await Promise.all(failures)).filter(Boolean).length).toBe(1)
    expect((await store.findLoginFailures({ key, now: NOW, window: limits.window })).failures).toBe(12)
    await other.close()
    await close()
  })

  test('rows that no longer count are deleted, locked ones and those of a longer window are not', async () => {
    const { store, close } = await bench.open()
    const failAt = (address: string, now: number, expired_before = now - limits.window) =>
      store.addLoginFailure({ key: { address }, now, ...limits, expired_before })
    for (const address of ['a', 'b', 'locked', 'locked', 'locked']) await failAt(address, NOW)
    const count = async (address: string) =>
      (await store.findLoginFailures({ key: { address }, now: NOW, window: limits.window })).failures
    await failAt('longer window', NOW + 700, NOW - 3600)
    expect(await Promise.all(['a', 'b', 'locked'].map(count))).toEqual([1, 1, 3])
    await failAt('new', NOW + 700)
    expect(await Promise.all(['a', 'b', 'locked'].map(count))).toEqual([0, 0, 3])
    await close()
  })

  test('lockouts are listed with their address or user until they end, and count', async () => {
    const [address, user_id, account] = [newId(), newId(), newId()]
    const before = await bench.store.countLockouts({ now: NOW })
    for (let i = 0; i < 3; i++) await fail({ address })
    for (let i = 0; i < 3; i++) await fail({ account }, NOW + 5, user_id)
    expect(await lockout({ address })).toMatchObject({
      failures: 3,
      since: NOW,
      locked_at: NOW,
      locked_until: NOW + 900,
    })
    expect(await lockout({ user_id }, NOW + 5)).toEqual({
      id: expect.any(String),
      address: undefined,
      user_id,
      email: undefined,
      failures: 3,
      since: NOW + 5,
      locked_at: NOW + 5,
      locked_until: NOW + 905,
    })
    const id = (await lockout({ user_id }, NOW + 5))?.id
    await fail({ account }, NOW + 100, user_id)
    expect(await lockout({ user_id }, NOW + 100)).toMatchObject({ id, locked_at: NOW + 5, locked_until: NOW + 1000 })
    expect(await bench.store.countLockouts({ now: NOW })).toBe(before + 2)
    expect(await lockout({ address }, NOW + 900)).toBeUndefined()
    expect((await lockouts(NOW + 10)).map(({ locked_at }) => locked_at)).toEqual(
      (await lockouts(NOW + 10)).map(({ locked_at }) => locked_at).sort((a, b) => b - a),
    )
  })

  test('a lockout shows the email of the user, and an email without an account has no lockout', async () => {
    const user = aUser()
    await bench.store.createUser(user)
    const before = await bench.store.countLockouts({ now: NOW })
    const account = newId()
    for (let i = 0; i < 3; i++) await fail({ account })
    expect((await find({ account })).locked_until).toBe(NOW + 900)
    expect(await bench.store.countLockouts({ now: NOW })).toBe(before)
    const known = newId()
    for (let i = 0; i < 3; i++) await fail({ account: known }, NOW, user.id)
    expect(await lockout({ user_id: user.id })).toMatchObject({ email: user.email })
  })

  test('the end of a lockout deletes its failures, once', async () => {
    const [address, user_id, account] = [newId(), newId(), newId()]
    for (let i = 0; i < 3; i++) await fail({ address })
    for (let i = 0; i < 3; i++) await fail({ account }, NOW, user_id)
    const end = async (id = '') => bench.store.deleteLockout({ id, now: NOW })
    const id = (await lockout({ address }))?.id
    expect(await end(id)).toEqual({ address, user_id: undefined })
    expect(await end(id)).toBeUndefined()
    expect(await end((await lockout({ user_id }))?.id)).toEqual({ address: undefined, user_id })
    expect(await Promise.all([find({ address }), find({ account })])).toEqual(
      Array(2).fill({ failures: 0, locked_until: 0 }),
    )
  })
}
