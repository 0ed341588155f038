// Rules of operations on sessions, the sign-ins of users.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Session } from '../../../src/records/session.ts'
import type { User } from '../../../src/records/user.ts'
import { aRequest, aSession, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { signedIn } from './scenes.ts'

export function sessionRules(bench: Bench): void {
  const created = async () => {
    const user = aUser()
    await bench.store.createUser(user)
    return user
  }
  const update = (user: User, signOut = false) => bench.store.updateUser({ user, signOut, now: NOW })
  const session = async (user: User, more: Partial<Session> = {}) => {
    const made = aSession(user, more)
    await bench.store.createSession(made)
    return made
  }
  const at = (id: string, now = NOW) => bench.store.findSession({ id, now })

  test('a session is found with its user until it expires', async () => {
    const user = await created()
    const mine = await session(user, { expires_at: NOW + 10 })
    expect(await at(mine.id)).toEqual({ session: mine, user })
    expect(await at(mine.id, NOW + 9)).toBeDefined()
    expect(await at(mine.id, NOW + 10)).toBeUndefined()
  })

  test('a session that was ended is gone, and no other one', async () => {
    const user = await created()
    const [one, two] = [await session(user), await session(user)]
    await bench.store.deleteSession({ id: one.id })
    await bench.store.deleteSession({ id: one.id })
    expect(await at(one.id)).toBeUndefined()
    expect(await at(two.id)).toBeDefined()
  })

  test('a session keeps its browser, its address and how the user signed in', async () => {
    const user = await created()
    const more = { oidc_issuer: 'https://id.example.com', oidc_sid: 's', user_agent: 'Firefox', ip: '192.0.2.7' }
    const mine = await session(user, { ...more, last_used_at: NOW })
    expect((await at(mine.id))?.session).toEqual(mine)
    await bench.store.touchSession({ id: mine.id, now: NOW + 5 })
    expect((await at(mine.id))?.session).toEqual({ ...mine, last_used_at: NOW + 5 })
  })

  test('the sessions of a user are listed newest first, without expired ones and those of others', async () => {
    const [user, other] = [await created(), await created()]
    const made = [await session(user), await session(user)]
    await session(user, { expires_at: NOW })
    await session(other)
    expect(await bench.store.listSessions({ user_id: user.id, now: NOW })).toEqual(made.reverse())
  })

  /** An unused code and an undecided request of a session. */
  const codeAndRequest = async (user_id: string, session_id: string) => {
    const made = [
      aRequest({ user_id, session_id, code_hash: newId(), code_expires_at: NOW + 60 }),
      aRequest({ user_id, session_id }),
    ] as const
    for (const each of made) await bench.store.createAuthorizationRequest(each)
    return made
  }
  const left = (...requests: readonly { id: string }[]) =>
    Promise.all(requests.map(async ({ id }) => (await bench.store.findAuthorizationRequest({ id })) !== undefined))

  test('one session of a user is ended with its codes but not its undecided requests, and never one of another user', async () => {
    const scene = await signedIn(bench.store)
    const [mine, kept, theirs] = [await session(scene.user), await session(scene.user), await session(await created())]
    const end = (id: string) => bench.store.endUserSession({ user_id: scene.user.id, id })
    expect([await end(theirs.id), await end(newId())]).toEqual([false, false])
    const [code, request] = await codeAndRequest(scene.user.id, mine.id)
    expect([await end(mine.id), await end(mine.id)]).toEqual([true, false])
    expect(await left(code, request)).toEqual([false, true])
    const live = (await Promise.all([mine, kept, theirs].map(({ id }) => at(id)))).map((found) => found !== undefined)
    expect(live).toEqual([false, true, true])
  })

  test('every session of a user but one is ended, with their codes', async () => {
    const scene = await signedIn(bench.store)
    const [mine, one, two] = [await session(scene.user), await session(scene.user), await session(scene.user)]
    const theirs = await session(await created())
    const [code, request] = await codeAndRequest(scene.user.id, one.id)
    expect(await bench.store.endOtherSessions({ user_id: scene.user.id, id: mine.id })).toBe(2)
    expect(await left(code, request)).toEqual([false, true])
    const live = await Promise.all([mine, one, two, theirs].map(({ id }) => at(id)))
    expect(live.map((found) => found !== undefined)).toEqual([true, false, false, true])
  })

  test('a disabled user has no session, from the moment on in which it is disabled', async () => {
    const user = await created()
    const mine = await session(user)
    await update({ ...user, status: 'disabled' })
    expect(await at(mine.id)).toBeUndefined()
  })

  test('signing a user out ends every session and family of that user alone', async () => {
    const scene = await signedIn(bench.store)
    const other = await signedIn(bench.store)
    const [mine, theirs] = [await session(scene.user), await session(other.user)]
    expect(await bench.store.signOutUser({ id: scene.user.id, now: NOW + 1 })).toBe(1)
    expect(await at(mine.id)).toBeUndefined()
    expect(await at(theirs.id)).toBeDefined()
    const found = await bench.store.findRefreshToken({ id: scene.refresh.id })
    expect(found?.family.revoked_at).toBe(NOW + 1)
    expect((await bench.store.findTokenState({ id: scene.issuance.id }))?.live).toBe(false)
    expect((await bench.store.findTokenState({ id: other.issuance.id }))?.live).toBe(true)
    expect(await bench.store.signOutUser({ id: scene.user.id, now: NOW + 2 })).toBe(0)
  })

  test('a change may sign the user out with it, and a stale one does not', async () => {
    const { user, refresh } = await signedIn(bench.store)
    const mine = await session(user)
    const familyEnd = async () => (await bench.store.findRefreshToken({ id: refresh.id }))?.family.revoked_at
    expect(await update({ ...user, version: 9 }, true)).toBe('stale')
    expect([(await at(mine.id)) !== undefined, await familyEnd()]).toEqual([true, undefined])
    expect(await update(user, false)).toBe('updated')
    expect([(await at(mine.id)) !== undefined, await familyEnd()]).toEqual([true, undefined])
    expect(await update({ ...user, version: 2 }, true)).toBe('updated')
    expect([(await at(mine.id)) !== undefined, await familyEnd()]).toEqual([false, NOW])
  })

  test('a new password replaces the hash that was confirmed and ends the other sessions, or nothing at all', async () => {
    const user = { ...aUser(), password_hash: 'old' }
    await bench.store.createUser(user)
    const [mine, other] = [await session(user), await session(user)]
    const change = (from: string, to: string) =>
      bench.store.changePassword({ user_id: user.id, id: mine.id, from, to, now: NOW + 3 })
    expect(await change('wrong', 'new')).toBeUndefined()
    expect([await at(mine.id), await at(other.id)]).not.toContain(undefined)
    expect(await change('old', 'new')).toBe(1)
    expect((await at(mine.id))?.user).toEqual({ ...user, password_hash: 'new', updated_at: NOW + 3, version: 2 })
    expect(await at(other.id)).toBeUndefined()
  })
}
