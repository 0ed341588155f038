// Rules of what may be used once, and of tokens that were exchanged for others.
import { describe, expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import type { Issuance } from '../../../src/records/issuance.ts'
import type { SingleUse } from '../../../src/records/single_use.ts'
import { aClient, aFamily, anIssuance, aRefreshToken, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved, redemption, signedIn } from './scenes.ts'

const aUse = (more: Partial<SingleUse> = {}): SingleUse => ({
  id: newId(),
  kind: 'dpop',
  hash: newId(),
  expires_at: NOW + 71,
  ...more,
})
const USED = { code: 'USED_BEFORE dpop' }

export function singleUseRules(bench: Bench): void {
  const find = (id: string) => bench.store.findIssuance({ id })

  test('unexpired single uses after an id are read in the order of their creation', async () => {
    const { store, close } = await bench.open()
    const uses = [aUse(), aUse({ kind: 'assertion', expires_at: NOW + 300 }), aUse({ expires_at: NOW + 1 })]
    for (const use of uses) await store.recordUse(use)
    expect(await store.listUses({ since: '', now: NOW })).toEqual(uses)
    expect(await store.listUses({ since: uses[1]?.id ?? '', now: NOW })).toEqual(uses.slice(1))
    expect(await store.listUses({ since: '', now: NOW + 1 })).toEqual(uses.slice(0, 2))
    expect(await store.listUses({ since: idFloor(Date.now() / 1000 + 60), now: NOW })).toEqual([])
    await close()
  })

  test('a single use is recorded once, and refused as used the second time', async () => {
    const use = aUse()
    await bench.store.recordUse(use)
    await expect(bench.store.recordUse(use)).rejects.toMatchObject(USED)
  })

  test('of concurrent uses of one value exactly one is recorded', async () => {
    const use = aUse()
    const settled = await Promise.allSettled(Array.from({ length: 10 }, () => bench.store.recordUse(use)))
    expect(settled.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    for (const each of settled) if (each.status === 'rejected') expect(each.reason).toMatchObject(USED)
  })

  describe('a token with a proof that was used before', () => {
    const use = aUse()
    const isRecorded = async (issuance: Issuance) => (await find(issuance.id)) !== undefined

    test('the proof is recorded together with the token', async () => {
      const issuance = anIssuance()
      await bench.store.recordIssuance({ ...issuance, uses: [use] })
      expect(await isRecorded(issuance)).toBe(true)
      expect(await bench.store.listUses({ since: use.id, now: NOW })).toContainEqual(use)
    })

    test('a token with a proof and an assertion: the error says which was used before, and the other stays unused', async () => {
      const { store } = bench
      const [proof, assertion] = [aUse(), aUse({ kind: 'client_assertion' })]
      const record = (...uses: SingleUse[]) => store.recordIssuance({ ...anIssuance(), uses })
      await record(aUse(), assertion)
      await expect(record(proof, assertion)).rejects.toMatchObject({ code: 'USED_BEFORE client_assertion' })
      await record(aUse({ kind: 'client_assertion' }), proof)
      await expect(record(aUse({ kind: 'client_assertion' }), proof)).rejects.toMatchObject(USED)
    })

    test('no issuance and no exchanged token is recorded', async () => {
      const [direct, exchanged, subject] = [anIssuance(), anIssuance(), anIssuance()]
      await bench.store.recordIssuance(subject)
      await expect(bench.store.recordIssuance({ ...direct, uses: [use] })).rejects.toMatchObject(USED)
      const next = { ...exchanged, parent_id: subject.id, uses: [use] }
      await expect(bench.store.recordExchange(next)).rejects.toMatchObject(USED)
      expect([await isRecorded(direct), await isRecorded(exchanged)]).toEqual([false, false])
    })

    test('no code is redeemed: it stays unconsumed', async () => {
      const scene = await approved(bench.store)
      const { family, refresh, issuance } = redemption(scene)
      const redeem = (proof: SingleUse) =>
        bench.store.redeemCode({ family, refresh, issuance: { ...issuance, uses: [proof] }, now: NOW })
      await expect(redeem(use)).rejects.toMatchObject(USED)
      expect((await bench.store.findCode({ id: scene.request.id }))?.request.consumed_at).toBeUndefined()
      expect(await bench.store.findRefreshToken({ id: refresh.id })).toBeUndefined()
      expect(await redeem(aUse())).toBe('redeemed')
    })

    test('no refresh token is rotated: it stays unconsumed, and its family stays valid', async () => {
      const { family, refresh } = await signedIn(bench.store)
      const next = aRefreshToken(family)
      const rotate = (proof: SingleUse) =>
        bench.store.rotateRefreshToken({
          used: refresh.id,
          next,
          issuance: { ...issuanceOf(family), uses: [proof] },
          now: NOW,
        })
      await expect(rotate(use)).rejects.toMatchObject(USED)
      const found = await bench.store.findRefreshToken({ id: refresh.id })
      expect([found?.token.consumed_at, found?.family.revoked_at]).toEqual([undefined, undefined])
      expect(await bench.store.findRefreshToken({ id: next.id })).toBeUndefined()
      expect(await rotate(aUse())).toBe('rotated')
    })
  })
}

export function exchangeRules(bench: Bench): void {
  const recorded = async (more: Partial<Issuance> = {}) => {
    const issuance = anIssuance(more)
    await bench.store.recordIssuance(issuance)
    return issuance
  }
  const isLive = async ({ id }: Issuance) => (await bench.store.findTokenState({ id }))?.live
  const exchange = async (subject: Issuance, more: Partial<Issuance> = {}) => {
    const next = anIssuance({ parent_id: subject.id, family_id: subject.family_id, ...more })
    const outcome = await bench.store.recordExchange(next)
    expect(outcome === 'recorded').toBe((await bench.store.findIssuance({ id: next.id })) !== undefined)
    return { next, outcome }
  }
  /** A chain of tokens, each exchanged for the one before; the first one came of a sign-in. */
  const chain = async (length: number) => {
    const scene = await signedIn(bench.store)
    const tokens = [scene.issuance]
    for (let i = 0; i < length; i++) tokens.push((await exchange(tokens.at(-1) ?? scene.issuance)).next)
    return { ...scene, tokens, last: tokens.at(-1) ?? scene.issuance }
  }

  test('an exchanged token is recorded in every field while its subject token is valid', async () => {
    const subject = await recorded()
    const { next, outcome } = await exchange(subject, { act: { sub: 'b', act: { sub: 'a' } }, jkt: 'jkt' })
    expect(outcome).toBe('recorded')
    expect(await bench.store.findIssuance({ id: next.id })).toEqual(next)
    expect(await bench.store.findTokenState({ id: next.id })).toMatchObject({ live: true, issuance: next })
  })

  test('no token is recorded for a subject token that is unknown or revoked', async () => {
    expect((await exchange(anIssuance())).outcome).toBe('subject_revoked')
    const subject = await recorded()
    await bench.store.revokeIssuance({ id: subject.id, now: NOW })
    expect((await exchange(subject)).outcome).toBe('subject_revoked')
  })

  test('no token is recorded if the consent to the target is revoked', async () => {
    const [subject, { consent }] = [await recorded(), await approved(bench.store)]
    expect((await exchange(subject, { consent_id: consent.id })).outcome).toBe('recorded')
    await bench.store.revokeConsent({ id: consent.id, now: NOW })
    expect((await exchange(subject, { consent_id: consent.id })).outcome).toBe('consent_revoked')
  })

  describe('a chain of exchanged tokens', () => {
    type Chain = Awaited<ReturnType<typeof chain>>
    const ends: [string, (of: Chain) => Promise<unknown>][] = [
      [
        'the family of the first token',
        ({ family }) => bench.store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW }),
      ],
      ['the consent of the first token', ({ consent }) => bench.store.revokeConsent({ id: consent.id, now: NOW })],
      ['the first token', ({ issuance }) => bench.store.revokeIssuance({ id: issuance.id, now: NOW })],
      ['a token in the middle', ({ tokens }) => bench.store.revokeIssuance({ id: tokens[2]?.id ?? '', now: NOW })],
    ]
    test.each(ends)(
      'is invalid after the revocation of %s, and its last token cannot be exchanged',
      async (_what, end) => {
        const of = await chain(4)
        expect(await isLive(of.last)).toBe(true)
        await end(of)
        expect(await isLive(of.last)).toBe(false)
        expect((await exchange(of.last)).outcome).toBe('subject_revoked')
      },
    )

    test('has the number of exchanges that led to its last token', async () => {
      const { tokens } = await chain(3)
      const states = await Promise.all(tokens.map(({ id }) => bench.store.findTokenState({ id })))
      expect(states.map((state) => state?.exchanges)).toEqual([0, 1, 2, 3])
    })

    test('stays valid before a token in the middle that was revoked', async () => {
      const { tokens } = await chain(4)
      await bench.store.revokeIssuance({ id: tokens[2]?.id ?? '', now: NOW })
      expect(await Promise.all(tokens.map(isLive))).toEqual([true, true, false, false, false])
    })

    test('is invalid after a token whose own consent is revoked', async () => {
      const { consent } = await approved(bench.store)
      const first = await recorded()
      const middle = (await exchange(first, { consent_id: consent.id })).next
      const last = (await exchange(middle)).next
      await bench.store.revokeConsent({ id: consent.id, now: NOW })
      expect([await isLive(first), await isLive(middle), await isLive(last)]).toEqual([true, false, false])
    })

    test('is invalid when the family of any earlier token is revoked', async () => {
      const { family, issuance } = await signedIn(bench.store)
      const { next } = await exchange(issuance, { family_id: undefined })
      await bench.store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW })
      expect(await isLive(next)).toBe(false)
    })

    test('is invalid while the client of an earlier token is suspended', async () => {
      const client = aClient()
      await bench.store.createClient(client)
      const first = await recorded({ client_id: client.client_id })
      const last = (await exchange((await exchange(first)).next)).next
      expect(await isLive(last)).toBe(true)
      await bench.store.updateClient({ ...client, status: 'suspended' })
      expect(await isLive(last)).toBe(false)
      expect((await exchange(last)).outcome).toBe('subject_revoked')
      await bench.store.updateClient({ ...client, status: 'active', version: client.version + 1 })
      expect(await isLive(last)).toBe(true)
    })
  })

  test('has no valid token after a revocation and concurrent exchanges', async () => {
    const subject = await recorded()
    const exchanges = () => Array.from({ length: 10 }, () => exchange(subject))
    const [before, , after] = await Promise.all([
      Promise.all(exchanges()),
      bench.store.revokeIssuance({ id: subject.id, now: NOW }),
      Promise.all(exchanges()),
    ])
    for (const { next } of [...before, ...after]) expect(await isLive(next)).not.toBe(true)
    expect((await exchange(subject)).outcome).toBe('subject_revoked')
  })

  test('needs no lookup of families if none of its tokens has one', async () => {
    const subject = await recorded({ family_id: aFamily().id })
    expect((await exchange(subject)).outcome).toBe('recorded')
  })
}
