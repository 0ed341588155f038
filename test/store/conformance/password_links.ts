// Rules of the one-time links with which users set a password.
import { expect, test } from 'vitest'
import { digest, newId } from '../../../src/lib/id.ts'
import { aSession, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function passwordLinkRules(bench: Bench): void {
  const aLink = async () => {
    const user = aUser()
    await bench.store.createUser(user)
    const link = { id: newId(), user_id: user.id, hash: digest(newId()), created_at: NOW, expires_at: NOW + 60 }
    await bench.store.savePasswordLink(link)
    return { user, link, presented: { id: link.id, hash: link.hash, now: NOW } }
  }
  const find = (presented: Parameters<Bench['store']['findLinkedUser']>[0]) => bench.store.findLinkedUser(presented)

  test('a link finds its user until it expires, with its hash only', async () => {
    const { user, presented } = await aLink()
    expect(await find(presented)).toEqual(user)
    expect(await find({ ...presented, now: NOW + 59 })).toEqual(user)
    expect(await find({ ...presented, now: NOW + 60 })).toBeUndefined()
    expect(await find({ ...presented, hash: digest('other') })).toBeUndefined()
    expect(await find({ ...presented, id: newId() })).toBeUndefined()
  })

  test('a new link replaces the earlier one of the user, and no other', async () => {
    const [{ link, presented }, other] = [await aLink(), await aLink()]
    const next = { ...link, id: newId(), hash: digest(newId()) }
    await bench.store.savePasswordLink(next)
    expect(await find(presented)).toBeUndefined()
    expect((await find({ ...presented, id: next.id, hash: next.hash }))?.id).toBe(link.user_id)
    expect((await find(other.presented))?.id).toBe(other.user.id)
  })

  test('a use sets the password, ends the sessions and uses the link up', async () => {
    const { user, presented } = await aLink()
    const session = aSession(user)
    await bench.store.createSession(session)
    const password_hash = 'another hash'
    expect(await bench.store.usePasswordLink({ ...presented, password_hash })).toBe(true)
    expect(await bench.store.findUser({ id: user.id })).toMatchObject({ password_hash, version: 2, updated_at: NOW })
    expect(await bench.store.findSession({ id: session.id, now: NOW })).toBeUndefined()
    expect(await bench.store.usePasswordLink({ ...presented, password_hash: 'third' })).toBe(false)
    expect((await bench.store.findUser({ id: user.id }))?.password_hash).toBe(password_hash)
  })

  test('of uses at the same time one sets the password', async () => {
    const { presented } = await aLink()
    const uses = Array.from({ length: 8 }, (_, i) =>
      bench.store.usePasswordLink({ ...presented, password_hash: `hash ${i}` }),
    )
    expect((await Promise.all(uses)).filter(Boolean).length).toBe(1)
  })

  test('another password, disabling and deletion end the link; a change of the name does not', async () => {
    const changes = [{ password_hash: 'changed' }, { status: 'disabled' as const }, { name: 'Renamed' }]
    const found = []
    for (const change of changes) {
      const { user, presented } = await aLink()
      await bench.store.updateUser({ user: { ...user, ...change }, signOut: false, now: NOW })
      found.push((await find(presented))?.name)
    }
    expect(found).toEqual([undefined, undefined, 'Renamed'])
    const own = await aLink()
    const { id: user_id, password_hash: from = '' } = own.user
    await bench.store.changePassword({ user_id, id: newId(), from, to: 'changed', now: NOW })
    expect(await find(own.presented)).toBeUndefined()
    const { user, presented } = await aLink()
    await bench.store.deleteUser({ id: user.id, force: true, now: NOW })
    expect(await find(presented)).toBeUndefined()
  })
}
