// Rules of operations on the sessions and subjects of users of upstream providers.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Session } from '../../../src/records/session.ts'
import { aSession, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { signedIn } from './scenes.ts'

const ISSUER = 'https://id.example.com'

export function federatedUserRules(bench: Bench): void {
  const arrived = async () => {
    const user = aUser({ provider: 'oidc', provider_issuer: ISSUER, provider_sub: newId(), password_hash: undefined })
    await bench.store.createUser(user)
    return { ...user, sub: user.provider_sub ?? '' }
  }
  const session = async (user: Awaited<ReturnType<typeof arrived>>, more: Partial<Session> = {}) => {
    const made = aSession(user, { oidc_issuer: ISSUER, ...more })
    await bench.store.createSession(made)
    return made.id
  }
  const live = async (...ids: string[]) =>
    (await Promise.all(ids.map((id) => bench.store.findSession({ id, now: NOW })))).map((found) => found !== undefined)
  const end = (named: { issuer?: string; sub?: string; sid?: string }) =>
    bench.store.endFederatedSessions({ issuer: ISSUER, families: true, now: NOW, ...named })

  test('a logout with a provider session ends the sessions of that provider session, with or without a subject', async () => {
    const user = await arrived()
    const [sid, other] = [newId(), newId()]
    const [mine, twin, elsewhere] = [
      await session(user, { oidc_sid: sid }),
      await session(user, { oidc_sid: sid }),
      await session(user, { oidc_sid: other }),
    ]
    expect(await end({ sub: user.sub, sid })).toEqual({ user_id: user.id, sessions: 2, families: 0, connections: 0 })
    expect(await live(mine, twin, elsewhere)).toEqual([false, false, true])
    expect(await end({ sid: other })).toMatchObject({ sessions: 1 })
    expect(await live(elsewhere)).toEqual([false])
  })

  test('a logout with only a subject ends all its sessions; with a provider session too, those with an unknown provider session end', async () => {
    const user = await arrived()
    const [named, unnamed] = [await session(user, { oidc_sid: newId() }), await session(user)]
    expect(await end({ sub: user.sub, sid: newId() })).toMatchObject({ sessions: 1 })
    expect(await live(named, unnamed)).toEqual([true, false])
    expect(await end({ sub: user.sub })).toMatchObject({ sessions: 1 })
    expect(await live(named)).toEqual([false])
  })

  test('a logout ends no session of another issuer, another subject or another session of a subject', async () => {
    const [user, other] = [await arrived(), await arrived()]
    const sid = newId()
    const mine = await session(user, { oidc_sid: sid })
    expect(await end({ issuer: 'https://other.example.com', sub: user.sub, sid })).toBeUndefined()
    expect(await end({ sub: 'unknown' })).toBeUndefined()
    expect(await end({ sub: other.sub, sid })).toMatchObject({ sessions: 0 })
    expect(await live(mine)).toEqual([true])
  })

  test('a logout with only a provider session ends the refresh tokens of the user, also after the session here has ended, until its record expires', async () => {
    const { user } = await signedIn(bench.store)
    const [sid, old] = [newId(), newId()]
    const save = (sid: string, user_id: string, expires_at = NOW + 10) =>
      bench.store.saveFederatedSession({ id: newId(), issuer: ISSUER, sid, user_id, expires_at })
    await save(sid, newId())
    await save(sid, user.id)
    await save(old, user.id, NOW)
    expect(await end({ sid: old })).toBeUndefined()
    expect(await end({ sid, issuer: 'https://other.example.com' })).toBeUndefined()
    expect(await end({ sid })).toEqual({ user_id: user.id, sessions: 0, families: 1, connections: 0 })
    expect(await end({ sid })).toBeUndefined()
  })

  test('the provider sessions of a user are forgotten with a logout of the subject and with the user, and purged when they expire', async () => {
    const [user, gone] = [await arrived(), await arrived()]
    const save = async ({ id: user_id }: { id: string }, expires_at = NOW + 10) => {
      const sid = newId()
      await bench.store.saveFederatedSession({ id: newId(), issuer: ISSUER, sid, user_id, expires_at })
      return sid
    }
    const [mine, theirs] = [await save(user), await save(gone)]
    await end({ sub: user.sub })
    await bench.store.deleteUser({ id: gone.id, force: true, now: NOW })
    expect([await end({ sid: mine }), await end({ sid: theirs })]).toEqual([undefined, undefined])
    await save(user, 5)
    const window = { target: 'sessions', table: 2, after: '', rows: 1000, now: 5 }
    expect((await bench.store.purgeWindow(window)).deleted).toBe(1)
  })

  test('a user is found by issuer and subject, also after a change of the subject, and cannot get the subject of another user', async () => {
    const [user, other] = [await arrived(), await arrived()]
    const find = (sub: string, issuer = ISSUER) => bench.store.findSubjectUser({ issuer, sub })
    expect([await find(user.sub), await find(user.sub, 'https://other.example.com')]).toEqual([user.id, undefined])
    const { sub, ...record } = user
    const change = (provider_sub: string) =>
      bench.store.updateUser({ user: { ...record, provider_sub }, signOut: false, now: NOW })
    expect(await change(other.sub)).toBe('subject_exists')
    const anew = newId()
    expect(await change(anew)).toBe('updated')
    expect([await find(anew), await find(sub), await find(other.sub)]).toEqual([user.id, undefined, other.id])
  })
}
