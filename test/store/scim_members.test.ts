// The members of a group of SCIM: what a change leaves, and what it reads in a group with many of them.
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { Database } from '../../src/store/database.ts'
import type { Op } from '../../src/store/op.ts'
import { changeScimGroup, createScimGroup, type MemberStep } from '../../src/store/people/scim_groups.ts'
import { createScimUser } from '../../src/store/people/scim_users.ts'
import { migrateSqlite } from '../../src/store/schema/migrate.ts'
import { runCounted } from '../support/counted_rows.ts'
import { aUser, NOW } from '../support/records.ts'

const provider = { slug: 'default', issuer: 'https://idp.example.com', match: 'external_id', isSubject: true } as const
const MEMBERS = 100_000
const db = new Database(':memory:')
const run = <R>(op: Op<R>) => runCounted(db, op)

function addPerson(of: string = provider.slug): string {
  const externalId = newId()
  const user = aUser({ provider: 'oidc', provider_issuer: provider.issuer, provider_sub: externalId })
  run(
    createScimUser({
      provider: { ...provider, slug: of },
      user,
      person: { userName: newId(), externalId },
      live_from: newId(),
    }),
  )
  return user.id
}
function addGroup(): string {
  const about = { id: newId(), provider: provider.slug, created_at: NOW, updated_at: NOW }
  run(createScimGroup({ group: { ...about, displayName: newId() }, members: [] }))
  return about.id
}
const patch = (id: string, ...steps: MemberStep[]) =>
  run(changeScimGroup({ id, provider: provider.slug, steps, now: NOW }))
const membersOf = (id: string) =>
  db.prepare('SELECT user_id FROM scim_members WHERE group_id = ? ORDER BY user_id').pluck().all(id)

beforeAll(() => migrateSqlite(db, NOW))

test(`X08 in a group with ${MEMBERS} members a change of one does not read the others`, () => {
  const [id, person] = [addGroup(), addPerson()]
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO scim_members (group_id, user_id) SELECT ?, 'u_' || i FROM n`,
  ).run(MEMBERS, id)
  for (const [step, events] of [
    [{ add: [person] }, 2],
    [{ add: [person] }, 0],
    [{ remove: [person] }, 2],
    [{ remove: [person] }, 0],
  ] as const) {
    const { result, rows, plans } = patch(id, step)
    expect(result).toMatchObject({ id, events: Array(events).fill({}) })
    expect(rows.length).toBeLessThan(10)
    expect(plans.join()).not.toMatch(/SCAN/)
  }
  expect(db.prepare('SELECT count(*) FROM scim_members WHERE group_id = ?').pluck().get(id)).toBe(MEMBERS)
})

test('steps leave the members that a set of them would have, and only people of the provider', () => {
  const people = Array.from({ length: 5 }, () => addPerson())
  const stranger = addPerson('acme')
  const id = addGroup()
  const some = fc.subarray([...people, stranger])
  const step = fc.oneof(
    some.map((add): MemberStep => ({ add })),
    some.map((remove): MemberStep => ({ remove })),
    fc.constant<MemberStep>({ clear: true }),
  )
  const check = fc.property(fc.subarray(people), fc.array(step, { maxLength: 6 }), (before, steps) => {
    patch(id, { clear: true }, { add: before })
    const members = new Set(before)
    for (const each of steps) {
      if ('clear' in each) members.clear()
      else if ('remove' in each) for (const one of each.remove) members.delete(one)
      else for (const one of each.add) members.add(one)
    }
    members.delete(stranger)
    const changed = new Set([...members, ...before].filter((one) => members.has(one) !== before.includes(one)))
    const { result } = patch(id, ...steps)
    expect(membersOf(id)).toEqual([...members].sort())
    // One event for each account that has changed, and one for the group.
    expect(typeof result === 'object' && result.events.length).toBe(changed.size > 0 ? changed.size + 1 : 0)
  })
  fc.assert(check, { numRuns: 200 })
})
