// Rules of what the service knows about itself.
import { expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import { aClient, anIssuance, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { signedIn } from './scenes.ts'

export function systemRules(bench: Bench): void {
  test('a setting has its last stored value, and is undefined before', async () => {
    const name = newId()
    const { store } = bench
    expect(await store.findSetting({ name })).toBeUndefined()
    await store.saveSetting({ name, value: 'open', now: NOW })
    expect(await store.findSetting({ name })).toBe('open')
    await store.saveSetting({ name, value: '', now: NOW })
    expect(await store.findSetting({ name })).toBe('')
    expect(await store.findSetting({ name: newId() })).toBeUndefined()
  })

  test('a setting is raised, and never lowered, also by two callers at once', async () => {
    const name = newId()
    const { store } = bench
    await Promise.all(['1', '3', '2'].map((value) => store.raiseSetting({ name, value, now: NOW })))
    expect(await store.findSetting({ name })).toBe('3')
  })

  test('issuers are stored with the time from which they were in force, and the first one has no start', async () => {
    const { store, close } = await bench.open()
    expect(await store.listIssuers()).toEqual([])
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW })
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW + 1 })
    await store.saveIssuer({ issuer: 'https://b.example', now: NOW + 2 })
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW + 3 })
    await store.saveIssuer({ issuer: 'https://c.example', now: NOW + 3 })
    expect(await store.listIssuers()).toEqual([
      { since: NOW + 3, issuer: 'https://c.example' },
      { since: NOW + 2, issuer: 'https://b.example' },
      { since: 0, issuer: 'https://a.example' },
    ])
    await close()
  })

  test('accounts are counted, and tokens are counted window by window', async () => {
    const { store, close } = await bench.open()
    await store.createClient(aClient({ status: 'suspended' }))
    await store.createUser(aUser())
    const { family, issuance } = await signedIn(store)
    await store.recordIssuance(anIssuance({ expires_at: NOW }))
    await store.recordIssuance(anIssuance({ family_id: family.id }))
    const counted = async (before = idFloor(4_000_000_000)) => {
      const total = { live: 0, revoked: 0, windows: 0 }
      for (let after: string | undefined = ''; after !== undefined; total.windows++) {
        const page: Awaited<ReturnType<typeof store.countTokens>> = await store.countTokens({
          after,
          before,
          rows: 2,
          now: NOW,
        })
        total.live += page.live
        total.revoked += page.revoked
        after = page.next
      }
      return total
    }
    expect(await store.countAccounts()).toEqual({ clients: 1, users: 2, connections: 0 })
    expect(await counted()).toEqual({ live: 2, revoked: 0, windows: 2 })
    expect(await counted(issuance.id)).toEqual({ live: 0, revoked: 0, windows: 1 })
    await store.revokeIssuance({ id: issuance.id, now: NOW })
    expect(await counted()).toMatchObject({ live: 1, revoked: 1 })
    await store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW })
    expect(await counted()).toMatchObject({ live: 0, revoked: 2 })
    await close()
  })

  test('an available database is healthy', async () => {
    expect(await bench.store.readHealth()).toBe(true)
    expect(bench.store.driver.isHealthy()).toBe(true)
  })

  test.each([false, true])(
    'a committed write proves that the database stores writes again (in doubt: %s)',
    async (inDoubt) => {
      for (const mark of ['one', 'two']) {
        await bench.store.proveWrite({ mark, inDoubt })
        const kept = await bench.store.findSetting({ name: 'write_proof' })
        expect([kept?.slice(0, 3), kept?.length]).toEqual([mark, inDoubt ? 65_536 : 3])
        bench.store.dropCaches()
      }
    },
  )
}
