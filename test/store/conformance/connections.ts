// Rules of operations on broker providers and on the connections of users to them.
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { ConnectState } from '../../../src/records/broker_grant.ts'
import { aBrokerGrant, aProvider, aResource, aSlug, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function connectionRules(bench: Bench): void {
  const provided = async () => {
    const provider = aProvider()
    expect(await bench.store.createProvider(provider)).toBe('created')
    return provider
  }
  const connected = async () => {
    const grant = aBrokerGrant(await provided())
    await bench.store.connectBrokerGrant(grant)
    return grant
  }

  describe('providers', () => {
    test('a provider is read back by id, by slug and in the list; one that was looked up before it existed is found at once', async () => {
      const provider = aProvider()
      expect(await bench.store.findProvider({ name: provider.slug })).toBeUndefined()
      await bench.store.createProvider(provider)
      for (const name of [provider.id, provider.slug])
        expect(await bench.store.findProvider({ name })).toEqual(provider)
      expect(await bench.store.listProviders()).toContainEqual(provider)
    })

    test('a second provider with the same slug is refused, also concurrently', async () => {
      const slug = aSlug()
      const outcomes = await Promise.all([1, 2, 3].map(() => bench.store.createProvider(aProvider({ slug }))))
      expect(outcomes.sort()).toEqual(['created', 'exists', 'exists'])
    })

    test('an update that is based on an older version is stale, and an update to a slug in use is refused', async () => {
      const [mine, other] = [await provided(), await provided()]
      expect(await bench.store.updateProvider({ ...mine, display_name: 'One' })).toBe('updated')
      expect(await bench.store.updateProvider({ ...mine, display_name: 'Two' })).toBe('stale')
      expect(await bench.store.updateProvider({ ...mine, version: 2, slug: other.slug })).toBe('exists')
      expect(await bench.store.findProvider({ name: mine.id })).toMatchObject({ display_name: 'One', version: 2 })
    })

    test('a resource is not created with a provider that is deleted at the same time', async () => {
      for (let round = 0; round < 5; round++) {
        const { id, slug } = await provided()
        const resource = aResource({ backend_kind: 'broker', broker_provider_slug: slug })
        const outcomes = await Promise.all([
          bench.store.createResource(resource),
          bench.store.deleteProvider({ id, cascade: false, now: NOW }),
        ])
        expect([
          ['created', 'has_resources'],
          ['no_provider', 'deleted'],
        ]).toContainEqual(outcomes)
      }
    })
  })

  describe('connections', () => {
    test('a connection is read back in every field, and only while it is active', async () => {
      const grant = await connected()
      expect(await bench.store.findBrokerGrant(grant)).toEqual(grant)
      const ended = await bench.store.revokeBrokerGrant({ id: grant.id, now: NOW + 1 })
      expect(ended).toEqual({ ...grant, provider: expect.any(String) })
      expect(await bench.store.findBrokerGrant(grant)).toBeUndefined()
      const [left] = await bench.store.listBrokerGrants(grant)
      expect(left).toEqual({ ...grant, credential: undefined, revoked_at: NOW + 1 })
      expect(await bench.store.revokeBrokerGrant({ id: newId(), now: NOW })).toBeUndefined()
    })

    test('a second connect keeps the row, increments its version and activates it again', async () => {
      const grant = await connected()
      await bench.store.revokeBrokerGrant({ id: grant.id, now: NOW })
      const again = { ...grant, id: newId(), credential: 'other', scopes_granted: 'up.read', updated_at: NOW + 1 }
      expect(await bench.store.connectBrokerGrant(again)).toEqual({ id: grant.id, version: 2 })
      expect(await bench.store.findBrokerGrant(grant)).toEqual({ ...again, id: grant.id, version: 2 })
    })

    test('a user cannot connect to a deleted provider', async () => {
      expect(await bench.store.connectBrokerGrant(aBrokerGrant(aProvider()))).toBeUndefined()
    })

    test('of concurrent renewals one gets the lease, until it is released or expires', async () => {
      const { id, version } = await connected()
      const lease = (now: number) =>
        bench.store.leaseBrokerGrant({ id, version, lease_id: newId(), now, until: now + 30 })
      expect((await Promise.all([1, 2, 3].map(() => lease(NOW)))).filter(Boolean)).toEqual([true])
      expect([await lease(NOW + 29), await lease(NOW + 30)]).toEqual([false, true])
      const lease_id = newId()
      await bench.store.releaseBrokerGrant({ id, lease_id })
      expect(await lease(NOW + 31)).toBe(false)
    })

    test('the result of a renewal is stored only under its own lease, and not over a newer connection', async () => {
      const grant = await connected()
      const { id, version } = grant
      const lease = { id, lease_id: newId() }
      await bench.store.leaseBrokerGrant({ ...lease, version, now: NOW, until: NOW + 30 })
      const save = (lease_id: string) => bench.store.saveCredential({ id, lease_id, credential: 'new', now: NOW + 1 })
      expect(await save(newId())).toBe(false)
      expect(await save(lease.lease_id)).toBe(true)
      expect(await save(lease.lease_id)).toBe(false)
      expect(await bench.store.findBrokerGrant(grant)).toMatchObject({
        credential: 'new',
        version: 2,
        leased_until: undefined,
      })
      expect(await bench.store.leaseBrokerGrant({ ...lease, version, now: NOW, until: NOW + 30 })).toBe(false)
      await bench.store.leaseBrokerGrant({ ...lease, version: 2, now: NOW, until: NOW + 30 })
      await bench.store.connectBrokerGrant({ ...grant, credential: 'newer' })
      expect(await save(lease.lease_id)).toBe(false)
      expect(await bench.store.revokeBrokerGrant({ ...lease, now: NOW })).toBeUndefined()
      expect((await bench.store.findBrokerGrant(grant))?.credential).toBe('newer')
    })

    test('a connection whose renewal had no answer is marked as unsure from the first time, until an answer is stored or the user connects again', async () => {
      const grant = await connected()
      const lose = async (version: number, now: number) => {
        const lease = { id: grant.id, lease_id: newId() }
        expect(await bench.store.leaseBrokerGrant({ ...lease, version, now, until: now + 30 })).toBe(true)
        await bench.store.releaseUnsure({ ...lease, now })
        return bench.store.findBrokerGrant(grant)
      }
      expect(await lose(1, NOW + 1)).toMatchObject({ unsure_since: NOW + 1, version: 2, leased_until: undefined })
      expect(await lose(2, NOW + 2)).toMatchObject({ unsure_since: NOW + 1, version: 3 })
      const lease = { id: grant.id, lease_id: newId() }
      await bench.store.leaseBrokerGrant({ ...lease, version: 3, now: NOW, until: NOW + 30 })
      await bench.store.saveCredential({ ...lease, credential: 'new', now: NOW })
      expect((await bench.store.findBrokerGrant(grant))?.unsure_since).toBeUndefined()
      await lose(4, NOW + 3)
      await bench.store.revokeBrokerGrant({ id: grant.id, reason: 'answer_lost', now: NOW + 4 })
      const [ended] = await bench.store.listBrokerGrants(grant)
      expect(ended).toMatchObject({ ended_reason: 'answer_lost', unsure_since: undefined, revoked_at: NOW + 4 })
      await bench.store.connectBrokerGrant({ ...grant, credential: 'newer' })
      const again = { ended_reason: undefined, unsure_since: undefined }
      expect(await bench.store.findBrokerGrant(grant)).toMatchObject(again)
    })

    test('connections end when their user is deleted', async () => {
      const user = aUser()
      await bench.store.createUser(user)
      const grant = aBrokerGrant(await provided(), { user_id: user.id })
      await bench.store.connectBrokerGrant(grant)
      await bench.store.deleteUser({ id: user.id, force: true, now: NOW + 1 })
      const [left] = await bench.store.listBrokerGrants(grant)
      expect([left?.credential, left?.revoked_at]).toEqual([undefined, NOW + 1])
    })
  })

  test('the state of a connect request is found until it expires, and consumed once, also concurrently', async () => {
    const state: ConnectState = {
      id: newId(),
      user_id: newId(),
      broker_provider_id: 'bp_1',
      resource_id: 'r_1',
      return_url: 'https://app.example.com',
      scope: 'up.read',
      expires_at: NOW + 600,
    }
    await bench.store.createConnectState(state)
    const find = (now: number) => bench.store.findConnectState({ id: state.id, now })
    expect([await find(NOW + 599), await find(NOW + 600)]).toEqual([state, undefined])
    const taken = await Promise.all([1, 2, 3].map(() => bench.store.takeConnectState({ id: state.id })))
    expect(taken.filter(Boolean)).toEqual([true])
    expect(await find(NOW)).toBeUndefined()
  })

  test('expired states of connect requests are purged', async () => {
    const { store, close } = await bench.open()
    for (const expires_at of [NOW, NOW + 1])
      await store.createConnectState({
        ...{ id: newId(), user_id: 'u', broker_provider_id: 'b', resource_id: 'r', return_url: 'x', scope: '' },
        expires_at,
      })
    const window = { target: 'connect-pending-states', table: 0, after: '', rows: 10, now: NOW }
    expect((await store.purgeWindow(window)).deleted).toBe(1)
    await close()
  })
}
