// Rules of the sessions of the admin page.
import { expect, test } from 'vitest'
import { digest, newId } from '../../../src/lib/id.ts'
import type { AdminSession } from '../../../src/records/admin_session.ts'
import { aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function adminSessionRules(bench: Bench): void {
  const aSession = (owner: Partial<AdminSession>) => {
    const id = newId()
    return { id, hash: digest(id), created_at: NOW, expires_at: NOW + 60, ...owner }
  }
  const find = ({ id }: { id: string }, now = NOW) => bench.store.findAdminSession({ id, now })

  test('the session of a person has its active user until it expires', async () => {
    const user = aUser()
    await bench.store.createUser(user)
    const [provider, issuer, subject, actor_id] = ['default', 'https://id.example.com', 'up-ada', 'admin:ada']
    const session = aSession({
      user_id: user.id,
      identity: { provider, issuer, subject, groups: ['a', 'b'], actor_id },
    })
    await bench.store.createAdminSession(session)
    expect(await find(session)).toEqual({ session, user })
    expect(await find(session, NOW + 59)).toBeDefined()
    expect(await find(session, NOW + 60)).toBeUndefined()
    await bench.store.updateUser({ user: { ...user, status: 'disabled' }, signOut: false, now: NOW })
    expect(await find(session)).toEqual({ session })
  })

  test('a sign-out of a user ends the sessions of that user, and no other', async () => {
    const [user, other] = [aUser(), aUser()]
    for (const each of [user, other]) await bench.store.createUser(each)
    const sessions = [aSession({ user_id: user.id }), aSession({ user_id: other.id })] as const
    for (const session of sessions) await bench.store.createAdminSession(session)
    await bench.store.signOutUser({ id: user.id, now: NOW })
    expect([await find(sessions[0]), (await find(sessions[1]))?.user?.id]).toEqual([undefined, other.id])
  })

  test('the session of a key has the key until it is revoked, and a deleted session is gone', async () => {
    const id = newId()
    const key = { id, name: `key-${id}`, capability: 'viewer' as const, hash: digest(id), created_at: NOW }
    await bench.store.createApiKey(key)
    const session = aSession({ api_key_id: id })
    const configured = aSession({ config_key: digest('mac') })
    for (const each of [session, configured]) await bench.store.createAdminSession(each)
    expect(await find(session)).toEqual({ session, key: { name: key.name, capability: 'viewer' } })
    expect(await find(configured)).toEqual({ session: configured })
    await bench.store.deleteApiKey(key)
    expect(await find(session)).toEqual({ session })
    await bench.store.deleteAdminSession(configured)
    expect(await find(configured)).toBeUndefined()
  })
}
