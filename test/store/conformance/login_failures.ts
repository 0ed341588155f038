// Rules of failed logins.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const limits = { window: 600, max: 3, lockout: 900 }

export function loginFailureRules(bench: Bench): void {
  const fail = (address: string, now = NOW) => bench.store.addLoginFailure({ address, now, ...limits })
  const find = (address: string, now = NOW) => bench.store.findLoginFailures({ address, since: now - limits.window })

  test('the last allowed failure locks the address, and no other address', async () => {
    const [address, other] = [newId(), newId()]
    expect([await fail(address), await fail(address), await fail(other)]).toEqual([false, false, false])
    expect(await find(address)).toEqual({ failures: 2, locked_until: 0 })
    expect(await fail(address)).toBe(true)
    expect(await find(address)).toEqual({ failures: 0, locked_until: NOW + 900 })
    expect(await find(other)).toEqual({ failures: 1, locked_until: 0 })
  })

  test('failures before the window, or before a successful sign-in, do not count', async () => {
    const address = newId()
    await fail(address)
    await fail(address)
    expect(await find(address, NOW + 600)).toEqual({ failures: 0, locked_until: 0 })
    expect(await fail(address, NOW + 600)).toBe(false)
    expect((await find(address, NOW + 600)).failures).toBe(1)
    await bench.store.clearLoginFailures({ address })
    expect(await find(address, NOW + 600)).toEqual({ failures: 0, locked_until: 0 })
  })

  test('every one of concurrent failures of two processes counts', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    const address = newId()
    const failures = Array.from({ length: 12 }, (_, i) =>
      (i % 2 ? store : other.store).addLoginFailure({ address, now: NOW, ...limits }),
    )
    expect((await Promise.all(failures)).filter(Boolean).length).toBe(4)
    await other.close()
    await close()
  })

  test('addresses whose failures expired are deleted, and locked addresses are kept', async () => {
    const { store, close } = await bench.open()
    const failAt = (address: string, now: number) => store.addLoginFailure({ address, now, ...limits })
    for (const address of ['a', 'b', 'locked', 'locked', 'locked']) await failAt(address, NOW)
    await failAt('new', NOW + 700)
    const known = await Promise.all(
      ['a', 'b', 'locked', 'new'].map((address) => store.findLoginFailures({ address, since: NOW - 1 })),
    )
    expect(known).toEqual([
      { failures: 0, locked_until: 0 },
      { failures: 0, locked_until: 0 },
      { failures: 0, locked_until: NOW + 900 },
      { failures: 1, locked_until: 0 },
    ])
    await close()
  })
}
