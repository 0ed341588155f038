// Rules of consents.
import { expect, test } from 'vitest'
import { newBearer, newId } from '../../../src/lib/id.ts'
import { aRequest, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved, type Scene, signedIn } from './scenes.ts'

export function consentRules(bench: Bench): void {
  /** Another approval of the same user for the same client and resource. */
  const approveAgain = async ({ consent, request }: Scene, scope: string, more = {}) => {
    const again = aRequest({ user_id: consent.user_id, client_id: request.client_id, ...more })
    await bench.store.createAuthorizationRequest(again)
    const code = { code_hash: newBearer('ac').hash, code_expires_at: NOW + 60 }
    const renewed = { ...consent, id: newId(), scope }
    const done = await bench.store.approveAuthorizationRequest({
      id: again.id,
      session_id: again.session_id,
      scope,
      ...code,
      consent: renewed,
      now: NOW + 9,
    })
    return { done, renewed, code: await bench.store.findCode({ id: again.id }) }
  }

  test('an approval for a resource is stored as a consent', async () => {
    const { consent } = await approved(bench.store)
    const expected = { ...consent, created_at: NOW, updated_at: NOW, revoked_at: undefined }
    expect(await bench.store.findConsent(consent)).toEqual(expected)
    expect(await bench.store.listConsents(consent)).toEqual([expected])
  })

  test('a consent applies to one user, one client and one resource', async () => {
    const { consent } = await approved(bench.store)
    for (const other of [{ user_id: newId() }, { client_id: newId() }, { resource_id: newId() }])
      expect(await bench.store.findConsent({ ...consent, ...other })).toBeUndefined()
  })

  test('an approval without a resource is not stored as a consent', async () => {
    const request = aRequest()
    await bench.store.createAuthorizationRequest(request)
    const code = { code_hash: newBearer('ac').hash, code_expires_at: NOW + 60 }
    await bench.store.approveAuthorizationRequest({
      id: request.id,
      session_id: request.session_id,
      scope: 'a',
      ...code,
      now: NOW,
    })
    expect(await bench.store.listConsents(request)).toEqual([])
    expect((await bench.store.findCode({ id: request.id }))?.request.consent_id).toBeUndefined()
  })

  test('a second approval updates the active consent, and its code refers to that consent', async () => {
    const scene = await approved(bench.store)
    const { code } = await approveAgain(scene, 'files:read files:write')
    expect(await bench.store.listConsents(scene.consent)).toEqual([
      {
        ...scene.consent,
        scope: 'files:read files:write',
        created_at: NOW,
        updated_at: NOW + 9,
        revoked_at: undefined,
      },
    ])
    expect(code?.request.consent_id).toBe(scene.consent.id)
  })

  test('a code and a refresh token are read with the present scope of their consent', async () => {
    const scene = await signedIn(bench.store)
    await approveAgain(scene, 'files:write')
    const code = await bench.store.findCode({ id: scene.request.id })
    const refresh = await bench.store.findRefreshToken({ id: scene.refresh.id })
    expect([code?.consent_scope, refresh?.consent_scope]).toEqual(['files:write', 'files:write'])
  })

  test('an approval after the expiry of the request changes no consent', async () => {
    const scene = await approved(bench.store)
    const { done } = await approveAgain(scene, 'everything', { expires_at: NOW })
    expect(done).toBe(false)
    expect((await bench.store.findConsent(scene.consent))?.scope).toBe(scene.consent.scope)
  })

  test('revoking a consent revokes its families and tokens, and no others', async () => {
    const [mine, other] = [await signedIn(bench.store), await signedIn(bench.store)]
    const revoked = await bench.store.revokeConsent({ id: mine.consent.id, now: NOW + 1 })
    expect(revoked).toEqual({ consent: expect.objectContaining(mine.consent), families: 1 })
    expect(await bench.store.findConsent(mine.consent)).toBeUndefined()
    expect((await bench.store.findRefreshToken({ id: mine.refresh.id }))?.family.revoked_at).toBe(NOW + 1)
    expect((await bench.store.findTokenState({ id: mine.issuance.id }))?.live).toBe(false)
    expect((await bench.store.findTokenState({ id: other.issuance.id }))?.live).toBe(true)
  })

  test('a second revocation keeps the first time, and an unknown consent is undefined', async () => {
    const { consent } = await signedIn(bench.store)
    await bench.store.revokeConsent({ id: consent.id, now: NOW + 1 })
    expect((await bench.store.revokeConsent({ id: consent.id, now: NOW + 2 }))?.families).toBe(0)
    expect((await bench.store.listConsents(consent))[0]?.revoked_at).toBe(NOW + 1)
    expect(await bench.store.revokeConsent({ id: newId(), now: NOW })).toBeUndefined()
  })

  test('a consent after a revocation is a new consent, and tokens of the old one stay revoked', async () => {
    const scene = await signedIn(bench.store)
    await bench.store.revokeConsent({ id: scene.consent.id, now: NOW + 1 })
    const { renewed, code } = await approveAgain(scene, 'files:read')
    expect((await bench.store.findConsent(scene.consent))?.id).toBe(renewed.id)
    expect(code).toMatchObject({ consent_revoked: false, request: { consent_id: renewed.id } })
    expect((await bench.store.listConsents(scene.consent)).map(({ revoked_at }) => revoked_at)).toEqual([
      NOW + 1,
      undefined,
    ])
    expect((await bench.store.findTokenState({ id: scene.issuance.id }))?.live).toBe(false)
  })
}
