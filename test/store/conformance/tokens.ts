// Rules of authorization requests, codes, families and refresh tokens.
import { describe, expect, test } from 'vitest'
import { newBearer, newId } from '../../../src/lib/id.ts'
import type { TokenFamily } from '../../../src/records/token_family.ts'
import { aFamily, anIssuance, aRefreshToken, aRequest, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved, redemption, signedIn } from './scenes.ts'

export function tokenRules(bench: Bench): void {
  const code = () => ({ code_hash: newBearer('ac').hash, code_expires_at: NOW + 60 })
  const isLive = async (id: string) => (await bench.store.findTokenState({ id }))?.live

  describe('authorization requests', () => {
    const find = (id: string) => bench.store.findAuthorizationRequest({ id })
    const deny = (id: string) => bench.store.denyAuthorizationRequest({ id, now: NOW })

    test('an authorization request is found in any state', async () => {
      const full = aRequest({ dpop_jkt: 'jkt', sealed: 'sealed', asked_scope: 'files:read files:write' })
      const bare = aRequest({ resource: undefined, state: undefined, redirect_uri_sent: false })
      for (const request of [full, bare]) {
        await bench.store.createAuthorizationRequest(request)
        expect(await find(request.id)).toEqual(request)
      }
    })

    test('a request becomes a code once, with the approved scopes', async () => {
      const request = aRequest()
      await bench.store.createAuthorizationRequest(request)
      const approval = { id: request.id, session_id: newId(), scope: 'less', ...code(), now: NOW }
      expect(await bench.store.findCode({ id: request.id })).toBeUndefined()
      expect(await bench.store.approveAuthorizationRequest(approval)).toBe(true)
      expect((await bench.store.findCode({ id: request.id }))?.request).toEqual({
        ...request,
        session_id: approval.session_id,
        scope: 'less',
        code_hash: approval.code_hash,
        code_expires_at: NOW + 60,
      })
      expect(await bench.store.approveAuthorizationRequest({ ...approval, ...code() })).toBe(false)
      expect((await bench.store.findCode({ id: request.id }))?.request.code_hash).toBe(approval.code_hash)
    })

    test('of two concurrent decisions one is applied', async () => {
      const request = aRequest()
      await bench.store.createAuthorizationRequest(request)
      const approve = () =>
        bench.store.approveAuthorizationRequest({
          id: request.id,
          session_id: request.session_id,
          scope: 'a',
          ...code(),
          now: NOW,
        })
      expect((await Promise.all([approve(), approve(), approve()])).filter(Boolean).length).toBe(1)
    })

    test('an expired or unknown request becomes no code', async () => {
      const request = aRequest({ expires_at: NOW })
      await bench.store.createAuthorizationRequest(request)
      for (const id of [request.id, newId()])
        expect(
          await bench.store.approveAuthorizationRequest({ id, session_id: newId(), scope: 'a', ...code(), now: NOW }),
        ).toBe(false)
      expect(await bench.store.findCode({ id: request.id })).toBeUndefined()
    })

    test('a denied request is kept, but not approved, and an approved one cannot be denied', async () => {
      const request = aRequest()
      await bench.store.createAuthorizationRequest(request)
      expect([await deny(request.id), await deny(request.id)]).toEqual([true, false])
      expect(await find(request.id)).toEqual({ ...request, denied_at: NOW, expires_at: NOW })
      const approval = { id: request.id, session_id: newId(), scope: 'a', ...code(), now: NOW - 1 }
      expect(await bench.store.approveAuthorizationRequest(approval)).toBe(false)
      const scene = await approved(bench.store)
      expect(await deny(scene.request.id)).toBe(false)
      expect((await bench.store.findCode({ id: scene.request.id }))?.request.denied_at).toBeUndefined()
    })
  })

  describe('codes', () => {
    test('a code is read with everything that its redemption depends on', async () => {
      const { request, user, consent } = await approved(bench.store)
      const find = () => bench.store.findCode({ id: request.id })
      expect(await find()).toMatchObject({
        request: { consent_id: consent.id, consumed_at: undefined },
        user_status: 'active',
        consent_revoked: false,
      })
      await bench.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: NOW })
      await bench.store.revokeConsent({ id: consent.id, now: NOW })
      expect(await find()).toMatchObject({ user_status: 'disabled', consent_revoked: true })
      await bench.store.deleteUser({ id: user.id, force: true, now: NOW })
      expect((await find())?.user_status).toBeUndefined()
    })

    test('the redemption of a code records family, refresh token and access token together', async () => {
      const scene = await approved(bench.store)
      const { family, refresh, issuance } = redemption(scene)
      expect(await bench.store.redeemCode({ family, refresh, issuance, now: NOW + 1 })).toBe('redeemed')
      expect((await bench.store.findCode({ id: scene.request.id }))?.request.consumed_at).toBe(NOW + 1)
      expect(await bench.store.findRefreshToken({ id: refresh.id })).toEqual({
        token: refresh,
        family,
        user_status: 'active',
        user_version: 1,
        consent_revoked: false,
        consent_scope: scene.consent.scope,
      })
      expect(await bench.store.findIssuance({ id: issuance.id })).toEqual(issuance)
    })

    test('a client without the refresh grant gets a family without a refresh token', async () => {
      const { family, issuance } = redemption(await approved(bench.store))
      expect(await bench.store.redeemCode({ family, issuance, now: NOW })).toBe('redeemed')
      expect(await isLive(issuance.id)).toBe(true)
    })

    test('a second redemption records nothing and revokes the tokens of the first one', async () => {
      const scene = await approved(bench.store)
      const [first, second] = [redemption(scene), redemption(scene)]
      await bench.store.redeemCode({ ...first, now: NOW })
      expect(await bench.store.redeemCode({ ...second, now: NOW + 1 })).toBe('used')
      expect(await bench.store.findIssuance({ id: second.issuance.id })).toBeUndefined()
      expect(await bench.store.findRefreshToken({ id: second.refresh.id })).toBeUndefined()
      expect((await bench.store.findRefreshToken({ id: first.refresh.id }))?.family.revoked_at).toBe(NOW + 1)
      expect(await isLive(first.issuance.id)).toBe(false)
    })

    test('of concurrent redemptions exactly one succeeds, and the others revoke its tokens', async () => {
      const scene = await approved(bench.store)
      const all = Array.from({ length: 5 }, () => redemption(scene))
      const outcomes = await Promise.all(all.map((each) => bench.store.redeemCode({ ...each, now: NOW })))
      expect(outcomes.filter((outcome) => outcome === 'redeemed').length).toBe(1)
      const found = await Promise.all(all.map(({ refresh }) => bench.store.findRefreshToken({ id: refresh.id })))
      expect(found.filter(Boolean).map((each) => each?.family.revoked_at)).toEqual([NOW])
    })

    test('a replay can revoke the tokens of a code without redeeming it', async () => {
      const { request, issuance } = await signedIn(bench.store)
      expect(await bench.store.revokeRedemption({ authorization_id: request.id, now: NOW })).toBe(1)
      expect(await bench.store.revokeRedemption({ authorization_id: request.id, now: NOW })).toBe(0)
      expect(await isLive(issuance.id)).toBe(false)
    })
  })

  describe('refresh tokens', () => {
    const next = (family: TokenFamily) => ({ next: aRefreshToken(family), issuance: issuanceOf(family) })
    const rotate = (used: string, to: ReturnType<typeof next>, now = NOW) =>
      bench.store.rotateRefreshToken({ used, ...to, now })

    test('a rotation consumes a refresh token and records its successor with an access token', async () => {
      const { family, refresh } = await signedIn(bench.store)
      const to = next(family)
      expect(await rotate(refresh.id, to, NOW + 5)).toBe('rotated')
      expect((await bench.store.findRefreshToken({ id: refresh.id }))?.token.consumed_at).toBe(NOW + 5)
      expect((await bench.store.findRefreshToken({ id: to.next.id }))?.token).toEqual(to.next)
      expect(await isLive(to.issuance.id)).toBe(true)
    })

    test('the reuse of a consumed refresh token revokes its family and records nothing', async () => {
      const { family, refresh, issuance } = await signedIn(bench.store)
      const [first, second, third] = [next(family), next(family), next(family)]
      await rotate(refresh.id, first)
      expect(await rotate(refresh.id, second, NOW + 9)).toBe('reused')
      expect(await bench.store.findRefreshToken({ id: second.next.id })).toBeUndefined()
      expect(await bench.store.findIssuance({ id: second.issuance.id })).toBeUndefined()
      expect((await bench.store.findRefreshToken({ id: first.next.id }))?.family.revoked_at).toBe(NOW + 9)
      expect([await isLive(issuance.id), await isLive(first.issuance.id)]).toEqual([false, false])
      expect(await rotate(first.next.id, third)).toBe('revoked')
      expect(await bench.store.findIssuance({ id: third.issuance.id })).toBeUndefined()
    })

    test('within the grace period a second use is a retry: the family stays valid, and the newest successor is found', async () => {
      const { family, refresh } = await signedIn(bench.store)
      const [first, second, other] = [next(family), next(family), next(family)]
      const within = (used: string, to: ReturnType<typeof next>, now: number) =>
        bench.store.rotateRefreshToken({ used, ...to, retried_since: now - 30, now })
      expect(await within(refresh.id, first, NOW)).toBe('rotated')
      expect(await within(first.next.id, second, NOW + 5)).toBe('rotated')
      expect(await within(refresh.id, other, NOW + 29)).toBe('retried')
      expect((await bench.store.findRefreshToken({ id: refresh.id }))?.token.next_id).toBe(first.next.id)
      const chain = [first, second].map(({ next: { id, hash, expires_at } }) => ({ id, hash, expires_at }))
      expect(await bench.store.findSuccessors({ id: refresh.id })).toEqual(chain)
      expect(await bench.store.findSuccessors({ id: second.next.id })).toEqual([])
      for (const { issuance } of [first, second]) expect(await isLive(issuance.id)).toBe(true)
      expect(await bench.store.findIssuance({ id: other.issuance.id })).toBeUndefined()

      const retry = { ...other.issuance, retry: true }
      expect(await bench.store.recordRetry({ family_id: family.id, issuance: retry })).toBe('recorded')
      expect(await bench.store.findIssuance({ id: retry.id })).toMatchObject({ retry: true, family_id: family.id })
      // The grace of a token begins when it is used, not with a retry.
      expect(await within(refresh.id, next(family), NOW + 30)).toBe('reused')
      const late = { ...issuanceOf(family), retry: true }
      expect(await bench.store.recordRetry({ family_id: family.id, issuance: late })).toBe('revoked')
      expect(await bench.store.findIssuance({ id: late.id })).toBeUndefined()
    })

    test('of concurrent rotations within the grace period exactly one succeeds, and the others are retries', async () => {
      const { family, refresh } = await signedIn(bench.store)
      const all = Array.from({ length: 8 }, () => next(family))
      const outcomes = await Promise.all(
        all.map((to) => bench.store.rotateRefreshToken({ used: refresh.id, ...to, retried_since: NOW - 30, now: NOW })),
      )
      expect(outcomes.sort()).toEqual([...Array.from({ length: 7 }, () => 'retried'), 'rotated'])
    })

    test('of concurrent rotations without a grace period exactly one succeeds, and the family is revoked', async () => {
      const { family, refresh } = await signedIn(bench.store)
      const all = Array.from({ length: 8 }, () => next(family))
      const outcomes = await Promise.all(all.map((to) => rotate(refresh.id, to)))
      expect(outcomes.filter((outcome) => outcome === 'rotated').length).toBe(1)
      expect(outcomes.filter((outcome) => outcome === 'reused').length).toBe(1)
      expect(outcomes.filter((outcome) => outcome === 'revoked').length).toBe(6)
      const recorded = await Promise.all(all.map(({ issuance }) => bench.store.findIssuance({ id: issuance.id })))
      expect(recorded.filter(Boolean).length).toBe(1)
    })

    test('a refresh token of a revoked family is refused as revoked, and stays unconsumed', async () => {
      const { family, refresh } = await signedIn(bench.store)
      expect(await bench.store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW })).toBe(1)
      expect(await bench.store.revokeFamily({ id: family.id, reason: 'client_request', now: NOW + 1 })).toBe(0)
      expect(await rotate(refresh.id, next(family))).toBe('revoked')
      const found = await bench.store.findRefreshToken({ id: refresh.id })
      expect([found?.token.consumed_at, found?.family.revoked_at]).toEqual([undefined, NOW])
    })

    test('an unknown refresh token is not found, and its rotation records nothing', async () => {
      expect(await bench.store.findRefreshToken({ id: newId() })).toBeUndefined()
      const family = aFamily()
      expect(await rotate(newId(), next(family))).toBe('revoked')
    })

    test('a refresh token is read with the state of its user and its consent', async () => {
      const { user, consent, refresh } = await signedIn(bench.store)
      await bench.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: NOW })
      await bench.store.revokeConsent({ id: consent.id, now: NOW })
      expect(await bench.store.findRefreshToken({ id: refresh.id })).toMatchObject({
        user_status: 'disabled',
        consent_revoked: true,
      })
    })

    test('a family is read back in every field', async () => {
      const scene = await approved(bench.store)
      const { family, issuance } = redemption(scene)
      Object.assign(family, { jkt: 'jkt', resource: undefined, asked_scope: 'files:read files:write' })
      const refresh = aRefreshToken(family)
      await bench.store.redeemCode({ family, refresh, issuance: anIssuance(issuance), now: NOW })
      expect((await bench.store.findRefreshToken({ id: refresh.id }))?.family).toEqual(family)
    })
  })
}
