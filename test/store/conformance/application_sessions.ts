// Rules of operations on the applications of sessions, which are notified when a session ends.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { aSession, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function applicationSessionRules(bench: Bench): void {
  const signedIn = async (user = aUser()) => {
    await bench.store.createUser(user)
    const session = aSession(user)
    await bench.store.createSession(session)
    return { user, session }
  }
  const note = async (session_id: string, client_id: string, sid = `sid-${session_id}`) => {
    await bench.store.noteApplication({ id: newId(), session_id, client_id, sid })
    return sid
  }
  const due = async (client_id: string, now = NOW) =>
    (await bench.store.listDueLogouts({ now, except: [], limit: 1000 })).filter((each) => each.client_id === client_id)

  test('an application is due when the session has ended, once, until it is settled', async () => {
    const { user, session } = await signedIn()
    const client_id = newId()
    const sid = await note(session.id, client_id)
    await note(session.id, client_id)
    expect(await due(client_id)).toEqual([])
    await bench.store.deleteSession({ id: session.id })
    const [logout, ...others] = await due(client_id)
    expect(logout).toMatchObject({ client_id, sid, user_id: user.id, attempts: 0, expires_at: session.expires_at })
    expect(others).toEqual([])
    expect(await bench.store.listDueLogouts({ now: NOW, except: [client_id], limit: 1000 })).not.toContainEqual(logout)
    await bench.store.settleLogout({ id: logout?.id ?? '' })
    expect(await due(client_id)).toEqual([])
  })

  test('each way to end sessions makes their applications due, and those of other sessions not', async () => {
    const client_id = newId()
    const { user, session } = await signedIn()
    const { session: elsewhere } = await signedIn()
    const other = aSession(user)
    await bench.store.createSession(other)
    for (const id of [session.id, other.id, elsewhere.id]) await note(id, client_id)
    await bench.store.endOtherSessions({ user_id: user.id, id: session.id })
    expect((await due(client_id)).map(({ sid }) => sid)).toEqual([`sid-${other.id}`])
    await bench.store.signOutUser({ id: user.id, now: NOW })
    expect(await due(client_id)).toHaveLength(2)
    await bench.store.deleteUser({ id: elsewhere.user_id, force: true, now: NOW })
    expect(await due(client_id)).toHaveLength(3)
  })

  test('an application of a session that has ended is not recorded', async () => {
    const { session } = await signedIn()
    await bench.store.deleteSession({ id: session.id })
    const client_id = newId()
    await note(session.id, client_id)
    expect(await due(client_id)).toEqual([])
  })

  test('the applications of a replaced session end with the new one, under the sid that they know', async () => {
    const { user, session } = await signedIn()
    const client_id = newId()
    const sid = await note(session.id, client_id)
    const next = aSession(user)
    await bench.store.createSession(next)
    await bench.store.moveApplications({ from: session.id, to: next.id, expires_at: next.expires_at })
    await bench.store.deleteSession({ id: session.id })
    expect(await due(client_id)).toEqual([])
    await bench.store.deleteSession({ id: next.id })
    expect((await due(client_id)).map((each) => each.sid)).toEqual([sid])
  })

  test('a failed attempt is due again later, and a purge removes it only after its last attempt', async () => {
    const { session } = await signedIn()
    const client_id = newId()
    await note(session.id, client_id)
    await bench.store.deleteSession({ id: session.id })
    const [logout] = await due(client_id)
    const table = 3
    const purge = (now: number) =>
      bench.store.purgeWindow({ target: 'sessions', table, after: '', rows: 1_000_000, now })
    await purge(session.expires_at + 1)
    expect(await due(client_id)).toHaveLength(1)
    await bench.store.postponeLogout({ id: logout?.id ?? '', retry_at: NOW + 5, expires_at: NOW + 10 })
    expect(await due(client_id)).toEqual([])
    expect(await due(client_id, NOW + 5)).toMatchObject([{ attempts: 1, expires_at: NOW + 10 }])
    await purge(NOW + 10)
    expect(await due(client_id, NOW + 5)).toEqual([])
  })
}
