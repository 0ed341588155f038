// Rules of user operations.
import { describe, expect, test } from 'vitest'
import type { User } from '../../../src/records/user.ts'
import { aFamily, aSession, aUser, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { signedIn } from './scenes.ts'

export function userRules(bench: Bench): void {
  const created = async (more: Partial<User> = {}) => {
    const user = aUser(more)
    expect(await bench.store.createUser(user)).toBe('created')
    return user
  }
  const update = (user: User, signOut = false) => bench.store.updateUser({ user, signOut, now: NOW })
  const find = (user: User) => bench.store.findUser({ id: user.id })

  test('a user is read back by id and by email', async () => {
    const local = await created()
    const federated = await created({
      email: undefined,
      password_hash: undefined,
      provider: 'oidc',
      role: 'admin',
      status: 'disabled',
    })
    expect(await find(local)).toEqual(local)
    expect(await bench.store.findUserByEmail({ email: local.email ?? '' })).toEqual(local)
    expect(await find(federated)).toEqual(federated)
    expect(await bench.store.findUser({ id: 'nobody' })).toBeUndefined()
    expect(await bench.store.findUserByEmail({ email: 'nobody@example.com' })).toBeUndefined()
  })

  test('the profile of a user is read back, and an update replaces it', async () => {
    const user = await created({ given_name: 'Ada', family_name: 'Lovelace', locale: 'en-GB' })
    expect(await find(user)).toEqual(user)
    const { locale: _, ...rest } = user
    const next = { ...rest, given_name: '', preferred_username: 'ada' }
    expect(await update(next)).toBe('updated')
    const found = await find(user)
    expect(found).toMatchObject({ family_name: 'Lovelace', preferred_username: 'ada' })
    expect([found?.given_name, found?.locale]).toEqual([undefined, undefined])
    expect(await bench.store.findPerson({ id: user.id, version: 2 })).toMatchObject({ family_name: 'Lovelace' })
  })

  test('groups of operators and groups of the provider are stored separately, and an update replaces both', async () => {
    const user = await created({ operator_groups: ['admins', 'agents,ops'], provider_groups: ['all'] })
    expect(await find(user)).toEqual(user)
    const next = { ...user, operator_groups: ['agents'], provider_groups: [], email_verified: false }
    expect(await update(next)).toBe('updated')
    expect(await find(user)).toEqual({ ...next, version: 2 })
    expect(await update({ ...next, operator_groups: ['lost'] })).toBe('stale')
    expect((await find(user))?.operator_groups).toEqual(['agents'])
  })

  test('groups are listed with their number of users, users of a group are listed oldest first, and a group without users does not exist', async () => {
    const mark = aUser().id
    const [crew, rest] = [`crew ${mark}`, `rest ${mark}`]
    const [late, early] = [
      await created({ operator_groups: [crew], created_at: NOW + 9 }),
      await created({ operator_groups: [crew], provider_groups: [rest], created_at: NOW + 8, name: 'Early' }),
    ]
    const { store } = bench
    const groups = await store.listGroups({ limit: 10_000, cap: 3 })
    expect(groups.filter(({ name }) => name.endsWith(mark))).toEqual([
      { name: crew, users: 2 },
      { name: rest, users: 1 },
    ])
    expect((await store.listGroups({ after: crew, limit: 1, cap: 3 }))[0]).toEqual({ name: rest, users: 1 })
    expect(await store.listGroups({ after: `crew ${mark}`.slice(0, -1), limit: 1, cap: 1 })).toEqual([
      { name: crew, users: 1 },
    ])
    expect(await store.listUsers({ group: crew })).toEqual([early, late])
    expect(await store.listUsers({ group: crew, after: { at: NOW + 8, id: early.id }, limit: 5 })).toEqual([late])
    expect(await store.listUsersWith({ group: crew, q: 'early', order: 'newest', rows: 1 })).toEqual({
      rows: [],
      next: { at: NOW + 9, id: late.id },
    })
    expect((await store.listUsersWith({ group: crew, q: 'early', order: 'newest', rows: 9 })).rows).toEqual([early])
    const none = Array.from({ length: 100 }, (_, i) => `none ${i} ${mark}`)
    expect((await store.listEmptyGroups({ names: [crew, ...none, rest] })).sort()).toEqual(none.sort())
    await store.deleteUser({ id: early.id, force: true, now: NOW })
    expect(await store.listEmptyGroups({ names: [crew, rest] })).toEqual([rest])
  })

  test('a search in a group finds the same users when most users are in the group and when few are', async () => {
    const mark = aUser().id
    const [most, few] = [`most ${mark}`, `few ${mark}`]
    const members: User[] = []
    for (let i = 0; i < 12; i++) {
      const operator_groups = [...(i % 4 === 0 ? [] : [most]), ...(i === 7 ? [few] : [])]
      const name = i % 2 === 0 ? `Even ${mark}` : `Odd ${mark}`
      members.push(await created({ operator_groups, name, created_at: NOW + 1000 + (i >> 1) }))
    }
    const found = async (group: string, q: string, order: 'oldest' | 'newest', rows: number) => {
      const names: string[] = []
      for (let after: { at: number; id: string } | undefined; ; ) {
        const page = await bench.store.listUsersWith({ group, q: `${q} ${mark}`, order, rows, after })
        names.push(...page.rows.map(({ id }) => id))
        if (!page.next) return names
        after = page.next
      }
    }
    const byAge = [...members].sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1))
    for (const group of [most, few])
      for (const q of ['Even', 'Odd'])
        for (const rows of [1, 5, 1000]) {
          const expected = byAge.filter((user) => user.name === `${q} ${mark}` && user.operator_groups.includes(group))
          const ids = expected.map(({ id }) => id)
          expect(await found(group, q, 'oldest', rows)).toEqual(ids)
          expect(await found(group, q, 'newest', rows)).toEqual(ids.reverse())
        }
  })

  test('an import adds all users with their groups; if an email is in use, it adds none, or only the other users', async () => {
    const taken = await created()
    const users = Array.from({ length: 200 }, (_, i) => aUser({ operator_groups: i % 2 === 0 ? [] : ['a', 'b'] }))
    const load = (list: User[], more: { skip?: boolean; dry_run?: boolean } = {}) =>
      bench.store.importUsers({ users: list, skip: false, dry_run: false, ...more })
    const twin = aUser({ email: taken.email?.toUpperCase() })
    expect(await load([...users, twin])).toEqual({ created: 0, taken: [200] })
    expect(await load([twin, ...users], { skip: true, dry_run: true })).toEqual({ created: 200, taken: [0] })
    expect(await find(users[0] as User)).toBeUndefined()
    expect(await load([twin, ...users], { skip: true })).toEqual({ created: 200, taken: [0] })
    for (const user of [users[0], users[199]]) expect(await find(user as User)).toEqual(user)
    expect(await find(taken)).toEqual(taken)
    expect(await find(twin)).toBeUndefined()
    expect(await load(users, { skip: true })).toEqual({ created: 0, taken: users.map((_, i) => i) })
  })

  test('two concurrent imports of the same emails add each user once', async () => {
    const emails = Array.from({ length: 20 }, () => aUser().email)
    const lists = [1, 2].map(() => emails.map((email) => aUser({ email })))
    const outcomes = await Promise.all(
      lists.map((users) => bench.store.importUsers({ users, skip: false, dry_run: false })),
    )
    const winners = outcomes.flatMap((outcome, i) => (outcome !== 'stale' && outcome.created === 20 ? [i] : []))
    expect(winners).toHaveLength(1)
    for (const [i, users] of lists.entries())
      for (const user of users) expect(await find(user)).toEqual(winners.includes(i) ? user : undefined)
  })

  const person = (sub: string, more: Partial<User> = {}) =>
    aUser({
      provider: 'oidc',
      provider_issuer: 'https://id.example.com',
      provider_sub: sub,
      password_hash: undefined,
      ...more,
    })
  const arrive = (user: User) => bench.store.saveFederatedUser({ user })

  test('a federated user is identified by issuer and subject, whatever else changes', async () => {
    const first = person('one')
    expect(await arrive(first)).toEqual({ user: first, created: true })
    expect(await find(first)).toEqual(first)
    const later = person('one', {
      email: `new.${first.id}@example.com`,
      name: 'New',
      role: 'admin',
      updated_at: NOW + 5,
    })
    const { email, name, updated_at } = later
    expect(await arrive(later)).toMatchObject({ user: { ...first, email, name, updated_at }, created: false })
    expect(await find(first)).toEqual({ ...first, email, name, updated_at, version: 2 })
    expect(await find(later)).toBeUndefined()
    const groups = Array.from({ length: 250 }, (_, i) => `group-${100 + i}`)
    await arrive(person('one', { provider_groups: groups, updated_at: NOW + 6 }))
    expect((await find(first))?.provider_groups).toEqual(groups)
    await arrive(person('one', { updated_at: NOW + 7 }))
    expect((await find(first))?.provider_groups).toEqual([])
    const elsewhere = person('one', { provider_issuer: 'https://other.example.com' })
    expect(await arrive(elsewhere)).toEqual({ user: elsewhere, created: true })
  })

  test('an unchanged federated user is not written', async () => {
    const first = person('same')
    await arrive(first)
    await arrive({ ...first, id: 'another', updated_at: NOW + 5 })
    await arrive({ ...first, id: 'another', name: '', updated_at: NOW + 5 })
    expect(await find(first)).toEqual(first)
  })

  test('a federated user never gets the email or the account of another user', async () => {
    const local = await created()
    const email = local.email?.toUpperCase()
    expect(await arrive(person('thief', { email }))).toBe('email_taken')
    const known = person('known')
    await arrive(known)
    expect(await arrive(person('known', { email, name: 'Renamed' }))).toMatchObject({
      user: { id: known.id, email: undefined, email_verified: false, name: 'Renamed' },
      email_before: known.email,
    })
    expect(await find(local)).toEqual(local)
    expect((await find(known))?.email).toBeUndefined()
  })

  test('a federated user has no email if the provider sends none', async () => {
    const known = person('mailless')
    await arrive(known)
    const { email: email_before } = known
    expect(await arrive({ ...known, email: undefined, email_verified: false })).toMatchObject({ email_before })
    expect(await find(known)).toMatchObject({ email: undefined, email_verified: false })
    expect(await arrive(known)).toMatchObject({ user: { email: email_before }, email_before: '' })
  })

  test('a disabled federated user is returned as disabled', async () => {
    const disabled = person('disabled', { status: 'disabled' })
    await arrive(disabled)
    expect(await arrive(person('disabled', { name: 'New' }))).toEqual({ user: disabled, created: false })
  })

  test('concurrent first sign-ins of one subject create one account', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => arrive(person('crowd', { email: undefined }))))
    const made = answers.filter((answer) => answer !== 'email_taken' && answer.created)
    expect(made).toHaveLength(1)
    expect(new Set(answers.map((answer) => answer !== 'email_taken' && answer.user.id)).size).toBe(1)
  })

  test('an email belongs to one user, in any spelling, and is stored as written', async () => {
    const user = aUser()
    user.email = `Alice.${user.id}@Example.com`
    await bench.store.createUser(user)
    expect(await bench.store.createUser(aUser({ email: user.email.toUpperCase() }))).toBe('exists')
    expect((await bench.store.findUserByEmail({ email: user.email.toLowerCase() }))?.email).toBe(user.email)
    const other = await created()
    expect(await update({ ...other, email: user.email.toLowerCase() })).toBe('exists')
    expect((await find(other))?.email).toBe(other.email)
  })

  describe('an address of an internationalised domain', () => {
    const LETTERS = 'José.Ñ@Bücher.example'
    const A_LABELS = 'jose\u0301.ñ@xn--bcher-kva.example'
    const FORMS = [LETTERS, A_LABELS, LETTERS.toUpperCase(), 'josé.ñ@XN--BCHER-KVA.example', 'josé.ñ@ｂücher。example']

    test('belongs to one user in any form, and is found in any form', async () => {
      for (const email of [LETTERS, A_LABELS]) {
        const { store, close } = await bench.open()
        const user = aUser({ email })
        expect(await store.createUser(user)).toBe('created')
        const other = aUser()
        await store.createUser(other)
        for (const form of FORMS) {
          expect((await store.findUserByEmail({ email: form }))?.id, form).toBe(user.id)
          expect((await store.listUsers({ email: form, limit: 10, offset: 0 })).map(({ id }) => id)).toEqual([user.id])
          expect(await store.createUser(aUser({ email: form })), form).toBe('exists')
          expect(await store.updateUser({ user: { ...other, email: form }, signOut: false, now: NOW })).toBe('exists')
          const twins = { users: [aUser({ email: form }), aUser()], skip: false, dry_run: false }
          expect(await store.importUsers(twins)).toEqual({ created: 0, taken: [0] })
          const federated = aUser({ provider: 'oidc', provider_issuer: 'https://idp.example', provider_sub: form })
          expect(await store.saveFederatedUser({ user: { ...federated, email: form } })).toBe('email_taken')
        }
        for (const different of ['jose.ñ@bücher.example', 'josé.ñ@bucher.example', 'josé.ñ@xn--bcher-kva.example.org'])
          expect(await store.findUserByEmail({ email: different })).toBeUndefined()
        const found = async (q: string) =>
          (await store.listUsersWith({ q, order: 'oldest', rows: 10 })).rows.map(({ id }) => id)
        for (const q of ['bücher.example', 'BÜCHER', 'xn--bcher-kva']) expect(await found(q), q).toEqual([user.id])
        await close()
      }
    })

    test.each([
      ['bar.example', 'xn--bar-.example'],
      ['bar.example', 'xn--bar-.xn--example-'],
      ['münchen.example', 'mxn--nchen-jva.example'],
      ['foomünchen.example', 'fooxn--mnchen-3ya.example'],
      ['mu\u0308nchen.example', 'a.mxn--nchen-jva.example'],
      ['xn--mnchen-3ya.ü.1', 'münchen.ü.1'],
    ])('%s is another address than %s', async (one, other) => {
      const { store, sql, close } = await bench.open()
      const [first, second] = [aUser({ email: `a@${one}` }), aUser({ email: `a@${other}` })]
      expect(await store.createUser(first)).toBe('created')
      expect(await store.findUserByEmail({ email: second.email as string })).toBeUndefined()
      const imported = { users: [second], skip: false, dry_run: false }
      expect(await store.importUsers(imported)).toEqual({ created: 1, taken: [] })
      for (const user of [first, second])
        for (const email of [user.email as string, (user.email as string).toUpperCase()])
          expect((await store.findUserByEmail({ email }))?.id).toBe(user.id)
      const { rows } = await store.listUsersWith({ q: other, order: 'oldest', rows: 10 })
      expect(rows.map(({ id }) => id)).toEqual([second.id])
      // An account is not found by its key alone.
      await sql(`UPDATE users SET email_key = 'b@${one}' WHERE id = '${second.id}'`)
      expect(await store.findUserByEmail({ email: `b@${one}` })).toBeUndefined()
      await close()
    })

    test.each([
      ['letters', 'ada@bücher.example'],
      ['A-labels', 'ada@xn--bcher-kva.example'],
    ])(
      'an account of an earlier version with %s is found in both forms, keeps its email, and no second one is made',
      async (_form, email) => {
        const { store, sql, close } = await bench.open()
        const user = aUser({ email })
        await store.createUser(user)
        await sql(`UPDATE users SET email_key = '${email}' WHERE id = '${user.id}'`)
        for (const form of ['Ada@bücher.example', 'ada@XN--bcher-kva.example']) {
          expect((await store.findUserByEmail({ email: form }))?.id).toBe(user.id)
          expect(await store.createUser(aUser({ email: form }))).toBe('exists')
          const skipping = { users: [aUser({ email: form })], skip: true, dry_run: false }
          expect(await store.importUsers(skipping)).toEqual({ created: 0, taken: [0] })
        }
        expect(await store.updateUser({ user: { ...user, name: 'Ada' }, signOut: false, now: NOW })).toBe('updated')
        expect((await store.findUserByEmail({ email }))?.name).toBe('Ada')
        await close()
      },
    )

    test('two accounts of an earlier version, one of each form, stay apart', async () => {
      const { store, sql, close } = await bench.open()
      const [letters, labels] = [
        aUser({ email: 'ada@bücher.example' }),
        aUser({
          email: 'x@example.com',
          provider: 'oidc',
          provider_issuer: 'https://idp.example',
          provider_sub: 'ada',
        }),
      ]
      for (const user of [letters, labels]) await store.createUser(user)
      labels.email = 'ada@xn--bcher-kva.example'
      await sql(`UPDATE users SET email = '${labels.email}', email_key = '${labels.email}' WHERE id = '${labels.id}'`)
      const ofEmail = async (email: string) => (await store.findUserByEmail({ email }))?.id
      for (const _round of [1, 2]) {
        expect(await ofEmail('Ada@Bücher.example')).toBe(letters.id)
        expect(await ofEmail('Ada@xn--bcher-kva.example')).toBe(labels.id)
        expect(await store.saveFederatedUser({ user: { ...labels, name: 'Again' } })).toMatchObject({
          user: { id: labels.id, email: labels.email, name: 'Again' },
        })
        const stored = await store.findUser({ id: letters.id })
        expect(await store.updateUser({ user: stored as User, signOut: false, now: NOW })).toBe('updated')
      }
      await close()
    })
  })

  test('several users may have no email', async () => {
    const [one, two] = [await created({ email: undefined }), await created({ email: undefined })]
    expect(await update({ ...one, name: 'One' })).toBe('updated')
    expect((await find(two))?.name).toBe('Alice')
  })

  test('an update increments the version, and one that is based on an older version is stale', async () => {
    const user = await created()
    expect(await update({ ...user, name: 'New', updated_at: NOW + 1 })).toBe('updated')
    expect(await find(user)).toEqual({ ...user, name: 'New', updated_at: NOW + 1, version: 2 })
    expect(await update({ ...user, name: 'Newer' })).toBe('stale')
    expect(await update(aUser())).toBe('stale')
  })

  test('users are listed oldest first, page by page, or found by email', async () => {
    const { store, close } = await bench.open()
    const users = [
      aUser({ id: 'b', created_at: NOW + 1, email: 'b@example.com' }),
      aUser({ id: 'a', created_at: NOW + 1, email: 'a@example.com' }),
      aUser({ id: 'c', email: undefined }),
    ]
    for (const user of users) await store.createUser(user)
    const ids = async (filter: object) =>
      (await store.listUsers({ limit: 10, offset: 0, ...filter })).map(({ id }) => id)
    expect(await ids({})).toEqual(['c', 'a', 'b'])
    expect(await ids({ limit: 1, offset: 1 })).toEqual(['a'])
    expect(await ids({ email: 'B@Example.com' })).toEqual(['b'])
    expect(await ids({ after: { at: NOW + 1, id: 'a' } })).toEqual(['b'])
    expect(await ids({ after: { at: NOW, id: 'c' }, limit: 1 })).toEqual(['a'])
    await close()
  })

  test('a rehashed password replaces only the hash that it was made from', async () => {
    const user = await created({ password_hash: 'old' })
    expect(await bench.store.rehashPassword({ id: user.id, from: 'old', to: 'new' })).toBe(1)
    expect(await bench.store.rehashPassword({ id: user.id, from: 'old', to: 'newer' })).toBe(0)
    expect(await find(user)).toEqual({ ...user, password_hash: 'new' })
  })

  describe('deleting', () => {
    const remove = (user: User, force = false) => bench.store.deleteUser({ id: user.id, force, now: NOW + 1 })

    test('a user without tokens is deleted once, with all sessions', async () => {
      const user = await created()
      const mine = aSession(user)
      await bench.store.createSession(mine)
      expect(await remove(user)).toBe('deleted')
      expect(await find(user)).toBeUndefined()
      expect(await bench.store.findSession({ id: mine.id, now: NOW })).toBeUndefined()
      expect(await remove(user)).toBeUndefined()
    })

    test('a user with a live family is deleted only with force, which revokes families and consents', async () => {
      const { user, refresh, issuance, consent } = await signedIn(bench.store)
      expect(await remove(user)).toBe('has_tokens')
      expect(await find(user)).toBeDefined()
      expect(await remove(user, true)).toBe('deleted')
      expect(await bench.store.findRefreshToken({ id: refresh.id })).toMatchObject({
        user_status: undefined,
        consent_revoked: true,
        family: { revoked_at: NOW + 1 },
      })
      expect(await bench.store.findTokenState({ id: issuance.id })).toMatchObject({
        live: false,
        user_status: undefined,
      })
      expect((await bench.store.listConsents(consent))[0]?.revoked_at).toBe(NOW + 1)
    })

    test('the email of a deleted user can be used again', async () => {
      const user = await created()
      await remove(user)
      await created({ email: user.email })
    })
  })

  test('the number of families that are not revoked is counted', async () => {
    const { store, close } = await bench.open()
    expect(await store.countActiveFamilies()).toBe(0)
    const { user } = await signedIn(store)
    await signedIn(store)
    expect(await store.countActiveFamilies()).toBe(2)
    await store.signOutUser({ id: user.id, now: NOW })
    expect(await store.countActiveFamilies()).toBe(1)
    expect(await store.redeemCode({ family: aFamily(), issuance: issuanceOf(aFamily()), now: NOW })).toBe('used')
    expect(await store.countActiveFamilies()).toBe(1)
    await close()
  })
}
