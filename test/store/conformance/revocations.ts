// Rules of emergency stops: which tokens and families fit a description, and that a dry run changes nothing.
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Issuance } from '../../../src/records/issuance.ts'
import type { Store } from '../../../src/store/index.ts'
import type { Description, RevocationWindow } from '../../../src/store/tokens/revocations.ts'
import { anEvent, anIssuance, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved, signedIn } from './scenes.ts'

const sweep = async (
  store: Store,
  op: 'revokeTokens' | 'revokeFamilies' | 'cancelRequests',
  fitting: Description,
  more: object = {},
) => {
  const total = { count: 0, client_ids: [] as string[], windows: 0 }
  for (let after: string | undefined = ''; after !== undefined; total.windows++) {
    const input = { rows: 100, now: NOW, dry_run: false, ...fitting, ...more, after }
    const revoked: Awaited<ReturnType<Store['revokeTokens']>> = await store[op](input)
    total.count += revoked.count
    total.client_ids.push(...revoked.client_ids)
    after = revoked.next
  }
  return total
}

export function revocationRules(bench: Bench): void {
  const recorded = async (more: Partial<Issuance> = {}) => {
    const issuance = anIssuance(more)
    await bench.store.recordIssuance(issuance)
    return issuance
  }
  const isLive = async ({ id }: Issuance) => (await bench.store.findTokenState({ id }))?.live
  const tokens = (fitting: Description, more: object = {}) => sweep(bench.store, 'revokeTokens', fitting, more)
  const families = (fitting: Description, more: object = {}) => sweep(bench.store, 'revokeFamilies', fitting, more)

  test('the event of a revocation is recorded with its first change, and again only for what was issued after the last event', async () => {
    const client_id = newId()
    const at = (seconds: number) => recorded({ client_id, issued_at: NOW + seconds })
    const [event, later] = [anEvent({ created_at: NOW + 5 }), anEvent({ created_at: NOW + 9 })]
    const revoke = async (more: object, record: RevocationWindow['record']) => {
      const window = { client_id, after: '', rows: 1_000_000, now: NOW + 5, dry_run: false, record, ...more }
      return (await bench.store.revokeTokens(window)).recorded
    }
    const isKnown = async ({ id }: { id: string }) => (await bench.store.findAuditEvent({ id })) !== undefined
    expect(await revoke({}, { event })).toBe(false)
    await at(1)
    expect(await revoke({ dry_run: true }, { event })).toBe(false)
    const known = anEvent()
    await bench.store.recordAudit(known)
    await expect(revoke({}, { event: known })).rejects.toThrow()
    expect(await revoke({}, { event })).toBe(true)
    await at(5)
    expect(await revoke({}, { event: later, last: event.created_at })).toBe(false)
    expect([await isKnown(event), await isKnown(later)]).toEqual([true, false])
    await at(6)
    expect(await revoke({}, { event: later, last: event.created_at })).toBe(true)
    await bench.store.completeAudit({ id: later.id, detail: { tokens: 3 } })
    expect((await bench.store.findAuditEvent({ id: later.id }))?.detail).toEqual({ tokens: 3 })
  })

  describe('tokens', () => {
    test.each<[string, (token: Issuance) => Description]>([
      ['its client', ({ client_id }) => ({ client_id })],
      ['its subject', ({ sub }) => ({ user_id: sub })],
      ['its key', ({ kid }) => ({ kid })],
      ['its client and its resource', ({ client_id, resource }) => ({ client_id, resource })],
      ['its client as the agent', ({ client_id }) => ({ agent: client_id })],
      ['its client and its key', ({ client_id, kid }) => ({ client_id, kid })],
      ['its client and the second it was issued in', ({ client_id }) => ({ client_id, since: NOW, until: NOW + 1 })],
    ])('a token is revoked by %s, and no other token', async (_what, describeIt) => {
      const [token, other] = [await recorded({ kid: newId() }), await recorded()]
      expect(await tokens(describeIt(token))).toMatchObject({ count: 1, client_ids: [token.client_id] })
      expect([await isLive(token), await isLive(other)]).toEqual([false, true])
    })

    test.each<[string, (token: Issuance) => Description]>([
      ['another key', ({ client_id }) => ({ client_id, kid: 'other' })],
      ['a time after it', ({ client_id }) => ({ client_id, since: NOW + 1 })],
      ['a time before it', ({ client_id }) => ({ client_id, until: NOW })],
      ['an agent that is not in its chain', ({ client_id }) => ({ client_id, agent: 'stranger' })],
    ])('a token is not revoked by its client with %s', async (_what, describeIt) => {
      const token = await recorded({ act: { sub: 'a' } })
      expect((await tokens(describeIt(token))).count).toBe(0)
      expect(await isLive(token)).toBe(true)
    })

    test('a token is revoked by any actor of its chain, and not by a part of the name of an actor', async () => {
      const [first, last] = [newId(), newId()]
      const token = await recorded({ act: { sub: last, actor_type: 'agent', act: { sub: first } } })
      expect((await tokens({ agent: first.slice(0, -1) })).count).toBe(0)
      expect((await tokens({ agent: first }, { dry_run: true })).count).toBe(1)
      expect((await tokens({ agent: last })).count).toBe(1)
      expect(await isLive(token)).toBe(false)
    })

    test('revoking a token revokes tokens that were exchanged from it by any client, and each is counted once', async () => {
      const parent = await recorded()
      const child = await recorded({ parent_id: parent.id })
      const grandchild = await recorded({ parent_id: child.id })
      const fitting = { client_id: parent.client_id }
      expect((await tokens(fitting, { dry_run: true })).count).toBe(3)
      const revoked = await tokens(fitting)
      expect(revoked.count).toBe(3)
      expect(new Set(revoked.client_ids)).toEqual(new Set([parent, child, grandchild].map((each) => each.client_id)))
      expect((await bench.store.findIssuance(grandchild))?.revoked_at).toBe(NOW)
      expect((await tokens(fitting)).count).toBe(0)
    })

    test('revoked and expired tokens are not counted', async () => {
      const client_id = newId()
      await recorded({ client_id, expires_at: NOW })
      await bench.store.revokeIssuance({ id: (await recorded({ client_id })).id, now: NOW })
      const scene = await signedIn(bench.store)
      await bench.store.revokeFamily({ id: scene.family.id, reason: 'client_request', now: NOW })
      const consented = await signedIn(bench.store)
      await bench.store.revokeConsent({ id: consented.consent.id, now: NOW })
      for (const each of [client_id, scene.family.client_id, consented.family.client_id])
        expect((await tokens({ client_id: each })).count).toBe(0)
    })

    test('a dry run returns the same number and changes nothing', async () => {
      const token = await recorded()
      const fitting = { client_id: token.client_id }
      expect((await tokens(fitting, { dry_run: true })).count).toBe(1)
      expect(await isLive(token)).toBe(true)
    })

    test('many tokens are revoked in several windows, each once', async () => {
      const client_id = newId()
      await Promise.all(Array.from({ length: 25 }, () => recorded({ client_id })))
      const revoked = await tokens({ client_id }, { rows: 10 })
      expect(revoked.count).toBe(25)
      expect(revoked.windows).toBeGreaterThan(2)
    })
  })

  test('an exchanged token in a later window is revoked with its parent', async () => {
    const { store, close } = await bench.open()
    const parent = anIssuance()
    await store.recordIssuance(parent)
    await Promise.all(Array.from({ length: 5 }, () => store.recordIssuance(anIssuance())))
    const child = anIssuance({ parent_id: parent.id })
    await store.recordIssuance(child)
    const fitting = { client_id: parent.client_id }
    for (const dry_run of [true, false])
      expect((await sweep(store, 'revokeTokens', fitting, { rows: 3, dry_run })).count).toBe(2)
    expect((await store.findIssuance(child))?.revoked_at).toBe(NOW)
    await close()
  })

  test('more tokens than one window may change are revoked in several windows, each once', async () => {
    const client_id = newId()
    await Promise.all(Array.from({ length: 450 }, () => recorded({ client_id })))
    expect((await tokens({ client_id }, { rows: 5000, dry_run: true })).count).toBe(450)
    expect((await tokens({ client_id }, { rows: 5000 })).count).toBe(450)
    expect((await tokens({ client_id }, { rows: 5000 })).count).toBe(0)
  })

  describe('requests', () => {
    const requests = (fitting: Description, more: object = {}) => sweep(bench.store, 'cancelRequests', fitting, more)
    const isThere = async (id: string) => (await bench.store.findCode({ id })) !== undefined

    test('a code is cancelled by client, user or resource, and a dry run only counts it', async () => {
      const [scene, other] = [await approved(bench.store), await approved(bench.store)]
      const { id, client_id, user_id, resource } = scene.request
      for (const fitting of [{ client_id }, { user_id }, { agent: client_id }, { client_id, resource }])
        expect((await requests(fitting, { dry_run: true })).count).toBe(1)
      for (const fitting of [
        { client_id, kid: 'k' },
        { client_id, since: NOW + 1 },
        { client_id, resource: 'x' },
      ])
        expect((await requests(fitting)).count).toBe(0)
      expect(await isThere(id)).toBe(true)
      expect(await requests({ client_id })).toMatchObject({ count: 1, client_ids: [client_id] })
      expect([await isThere(id), await isThere(other.request.id)]).toEqual([false, true])
    })

    test('a redeemed code is kept, so that its replay is detected, and an expired code is not counted', async () => {
      const { request } = await signedIn(bench.store)
      expect((await requests({ client_id: request.client_id })).count).toBe(0)
      expect(await isThere(request.id)).toBe(true)
      const late = await approved(bench.store, { expires_at: NOW + 1 })
      expect((await requests({ client_id: late.request.client_id }, { now: NOW + 1 })).count).toBe(0)
    })
  })

  describe('families', () => {
    test.each<[string, (family: { client_id: string; user_id: string }) => Description]>([
      ['its client', ({ client_id }) => ({ client_id })],
      ['its user', ({ user_id }) => ({ user_id })],
      ['its client as the agent', ({ client_id }) => ({ agent: client_id })],
      ['its client and the second it began in', ({ client_id }) => ({ client_id, since: NOW, until: NOW + 1 })],
    ])('a family is revoked by %s, with its tokens, and no other family', async (_what, describeIt) => {
      const [scene, other] = [await signedIn(bench.store), await signedIn(bench.store)]
      const fitting = describeIt(scene.family)
      expect((await families(fitting, { dry_run: true })).count).toBe(1)
      expect(await isLive(scene.issuance)).toBe(true)
      expect(await families(fitting)).toMatchObject({ count: 1, client_ids: [scene.family.client_id] })
      expect([await isLive(scene.issuance), await isLive(other.issuance)]).toEqual([false, true])
      expect((await families(fitting)).count).toBe(0)
    })

    test('a family is not revoked by a key, another time or two clients together', async () => {
      const { family, issuance } = await signedIn(bench.store)
      const { client_id } = family
      const none = [
        { kid: issuance.kid },
        { client_id, since: NOW + 1 },
        { client_id, until: NOW },
        { client_id, agent: 'a' },
      ]
      for (const fitting of none) expect((await families(fitting)).count).toBe(0)
      expect(await isLive(issuance)).toBe(true)
    })
  })
}
