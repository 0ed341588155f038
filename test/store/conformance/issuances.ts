// Rules of issued tokens: what is recorded, whether one still counts, and what goes with it when it is revoked.
import { describe, expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import type { Issuance } from '../../../src/records/issuance.ts'
import { aClient, anEvent, anIssuance, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { type SignedIn, signedIn } from './scenes.ts'

export function issuanceRules(bench: Bench): void {
  const recorded = async (more: Partial<Issuance> = {}) => {
    const issuance = anIssuance(more)
    await bench.store.recordIssuance(issuance)
    return issuance
  }
  const state = (issuance: Issuance) => bench.store.findTokenState({ id: issuance.id })
  const revoke = (issuance: Issuance, now = NOW) => bench.store.revokeIssuance({ id: issuance.id, now })

  test('a token is recorded in every field', async () => {
    const full = await recorded({
      grant_type: 'token_exchange',
      jkt: PROOF,
      act: { sub: 'b', actor_type: 'agent', act: { sub: 'a' } },
      is_agent: true,
      family_id: newId(),
      consent_id: newId(),
      parent_id: newId(),
      ip: '2001:db8::1',
    })
    const machine = anIssuance({ resource: undefined, scope: '' })
    machine.sub = machine.client_id
    await bench.store.recordIssuance(machine)
    for (const issuance of [full, machine])
      expect(await bench.store.findIssuance({ id: issuance.id })).toEqual(issuance)
    expect(await bench.store.findIssuance({ id: newId() })).toBeUndefined()
  })

  test('the key of the newest valid token after an id is found; upstream tokens have no key', async () => {
    const at = (seconds: number, more: object) => {
      const id = idFloor(NOW + 9_000_000 + seconds).slice(0, 8) + newId().slice(8)
      return bench.store.recordIssuance(anIssuance({ id, expires_at: NOW + 9_000_100, ...more }))
    }
    const [after, now] = [idFloor(NOW + 9_000_000), NOW + 9_000_050]
    expect(await bench.store.findLiveKid({ after, now })).toBeUndefined()
    await at(1, { kid: 'first' })
    await at(2, { kid: 'second' })
    await at(3, { kid: 'expired', expires_at: NOW + 9_000_010 })
    await at(4, { kid: 'vended', broker_provider: 'forge' })
    expect(await bench.store.findLiveKid({ after, now })).toBe('second')
    expect(await bench.store.findLiveKid({ after: idFloor(NOW + 9_000_003), now })).toBeUndefined()
  })

  test('a second token with the same id is refused, and the first one stays', async () => {
    const issuance = await recorded({ scope: 'first' })
    await expect(bench.store.recordIssuance({ ...issuance, scope: 'second' })).rejects.toThrow()
    expect((await bench.store.findIssuance({ id: issuance.id }))?.scope).toBe('first')
  })

  test('a change and its event are committed together or not at all', async () => {
    const { store } = bench
    const { family } = await signedIn(store)
    const issuance = await recorded()
    const known = anEvent()
    await store.recordAudit(known)
    const token = { id: issuance.id, now: NOW }
    const sign_in = { id: family.id, reason: 'client_request', now: NOW } as const
    await expect(store.recorded('revokeIssuance', token, known)).rejects.toThrow()
    await expect(store.recorded('revokeFamily', sign_in, known)).rejects.toThrow()
    expect((await state(issuance))?.live).toBe(true)
    const [first, second] = [anEvent({ detail: { jti: issuance.id, tokens: 0 } }), anEvent()]
    expect(await store.recorded('revokeIssuance', token, first)).toBe(1)
    expect(await store.findAuditEvent({ id: first.id })).toEqual({ ...first, detail: { jti: issuance.id, tokens: 1 } })
    expect(await store.recorded('revokeFamily', sign_in, second)).toBe(1)
    expect(await store.findAuditEvent({ id: second.id })).toEqual(second)
  })

  test('an operation that changes nothing records no event', async () => {
    const { store } = bench
    const [client, user] = [aClient(), aUser()]
    await store.createClient(client)
    await store.createUser(user)
    const event = anEvent()
    const outcomes = [
      await store.recorded('updateClient', { ...client, version: 7 }, event),
      await store.recorded('deleteClient', { by: 'ada', client_id: 'none', force: true, now: NOW, oldest: '' }, event),
      await store.recorded('updateUser', { user: { ...user, version: 7 }, signOut: false, now: NOW }, event),
      await store.recorded('deleteUser', { id: 'none', force: true, now: NOW }, event),
      await store.recorded('revokeConsent', { id: newId(), now: NOW }, event),
      await store.recorded('endUserSession', { user_id: user.id, id: newId() }, event),
      await store.recorded('changePassword', { user_id: user.id, id: newId(), from: 'x', to: 'y', now: NOW }, event),
      await store.recorded('endApplication', { user_id: user.id, client_id: 'none', now: NOW }, event),
      await store.recorded('endFederatedSessions', { issuer: 'none', sub: 'x', families: true, now: NOW }, event),
      await store.recorded('usePasswordLink', { id: newId(), hash: '', password_hash: '', now: NOW }, event),
    ]
    expect(outcomes.filter((outcome) => outcome && outcome !== 'stale')).toEqual([])
    expect(await store.findAuditEvent({ id: event.id })).toBeUndefined()
  })

  test('a change with its event invalidates the caches, and the result completes the event', async () => {
    const { store } = bench
    const client = aClient()
    await store.createClient(client)
    await store.findClient(client)
    await store.recorded('updateClient', { ...client, status: 'suspended' }, anEvent())
    expect((await store.findClient(client))?.status).toBe('suspended')
    const user = aUser({ provider: 'oidc', provider_issuer: 'https://id.example.com', provider_sub: newId() })
    await store.createUser(user)
    const event = anEvent({ actor_id: '' })
    await store.recorded('saveFederatedUser', { user: { ...user, email: `new-${user.email}` } }, event)
    expect(await store.findAuditEvent({ id: event.id })).toMatchObject({
      actor_id: user.id,
      detail: { email: `new-${user.email}`, email_before: user.email },
    })
  })

  describe('the validity of a token', () => {
    test('a token that was never recorded is undefined', async () => {
      expect(await state(anIssuance())).toBeUndefined()
    })

    test('a token of a machine is valid until it is revoked', async () => {
      const token = await recorded()
      expect(await state(token)).toEqual({ live: true, exchanges: 0, user_status: undefined, issuance: token })
      await revoke(token)
      expect(await state(token)).toMatchObject({ live: false, issuance: { revoked_at: NOW } })
    })

    test('a token of a user is valid while the token, its family and its consent are valid', async () => {
      const ends = [
        (scene: SignedIn) => revoke(scene.issuance),
        (scene: SignedIn) => bench.store.revokeFamily({ id: scene.family.id, reason: 'client_request', now: NOW }),
        (scene: SignedIn) => bench.store.revokeConsent({ id: scene.consent.id, now: NOW }),
      ]
      for (const end of ends) {
        const scene = await signedIn(bench.store)
        expect(await state(scene.issuance)).toMatchObject({ live: true, user_status: 'active' })
        await end(scene)
        expect((await state(scene.issuance))?.live).toBe(false)
      }
    })

    test('the state of a token contains the status of its user, or none if the subject is not a user', async () => {
      const { user, issuance } = await signedIn(bench.store)
      await bench.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: NOW })
      expect(await state(issuance)).toMatchObject({ live: true, user_status: 'disabled' })
    })

    test('an exchanged token is invalid after the revocation of the family or consent that it inherited', async () => {
      const scene = await signedIn(bench.store)
      const { family, consent, issuance } = scene
      const exchanged = await recorded({ parent_id: issuance.id, family_id: family.id, consent_id: consent.id })
      expect((await state(exchanged))?.live).toBe(true)
      await bench.store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW })
      expect((await state(exchanged))?.live).toBe(false)
    })
  })

  describe('revoking', () => {
    test('revoking a token revokes all tokens that were exchanged from it, at any depth, and nothing else', async () => {
      const root = await recorded()
      const left = await recorded({ parent_id: root.id })
      const right = await recorded({ parent_id: root.id })
      const deep = await recorded({ parent_id: left.id })
      const deeper = await recorded({ parent_id: deep.id })
      const other = await recorded()
      expect(await revoke(left, NOW + 1)).toBe(3)
      const live = async () =>
        Promise.all([root, left, right, deep, deeper, other].map(async (each) => (await state(each))?.live))
      expect(await live()).toEqual([true, false, true, false, false, true])
      expect(await revoke(root, NOW + 2)).toBe(2)
      expect(await live()).toEqual([false, false, false, false, false, true])
    })

    test('a revoked token keeps its revocation time when its parent is revoked later', async () => {
      const root = await recorded()
      const child = await recorded({ parent_id: root.id })
      await revoke(child, NOW + 1)
      expect(await revoke(root, NOW + 2)).toBe(1)
      expect(await revoke(root, NOW + 3)).toBe(0)
      expect((await state(child))?.issuance.revoked_at).toBe(NOW + 1)
      expect((await state(root))?.issuance.revoked_at).toBe(NOW + 2)
    })

    test('revoking an unknown token changes nothing', async () => {
      expect(await revoke(anIssuance())).toBe(0)
    })
  })
}

const PROOF = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'
