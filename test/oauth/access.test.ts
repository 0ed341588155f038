// Who may use a resource, and which of its scopes.
import { describe, expect, test } from 'vitest'
import { admittedBy, claimsAbout, concernsPerson, decideAccess } from '../../src/oauth/tokens/access.ts'
import { EVERYONE, type ResourceAccess, type ResourceScope, type TokenClaim } from '../../src/records/resource.ts'
import { personOf, type User } from '../../src/records/user.ts'
import { aResource, aUser } from '../support/records.ts'

const person = (...groups: string[]) => personOf(aUser({ operator_groups: groups }))
const mailed = (email: string, more: Partial<User> = {}) => personOf(aUser({ email, ...more }))
const restricted = (lists: Partial<ResourceAccess> = {}): ResourceAccess => ({
  ...EVERYONE,
  mode: 'restricted',
  ...lists,
})
const scope = (name: string, groups?: string[]): ResourceScope => ({ name, description: '', upstream: '', groups })

describe('access', () => {
  test('every user may use a resource that is not restricted, whatever its lists contain', () => {
    expect(admittedBy({ ...EVERYONE, groups: ['staff'] }, person())).toBe('everyone')
    expect(admittedBy(EVERYONE, undefined)).toBe('everyone')
  })

  test('one match in any of the lists is enough, and empty lists admit no user', () => {
    const ada = person('staff')
    const lists = { groups: ['staff', 'ops'], users: [ada.id] }
    expect(admittedBy(restricted(lists), ada)).toBe('groups')
    expect(admittedBy(restricted(lists), { ...person(), id: ada.id })).toBe('users')
    expect(admittedBy(restricted(lists), person('guests'))).toBeUndefined()
    expect(admittedBy(restricted(), ada)).toBeUndefined()
  })

  test('a subject that is not a local user is on no list', () => {
    const lists = { groups: ['staff'], users: ['u_1'], email_domains: ['example.com', ''] }
    expect(admittedBy(restricted(lists), undefined)).toBeUndefined()
  })

  test('groups of the provider count like groups that operators set', () => {
    const user = personOf(aUser({ operator_groups: ['night'], provider_groups: ['staff'] }))
    expect(['night', 'staff', 'ops'].map((name) => admittedBy(restricted({ groups: [name] }), user))).toEqual([
      'groups',
      'groups',
      undefined,
    ])
  })

  test.each([
    'staff,ops',
    'ops staff',
    'staff|ops',
    'staff ',
    'staffs',
    'STAFF',
    '["staff"]',
    'staff\u200b',
    'ѕtaff',
    'sta\uFB00',
  ])('the group %j is not the group staff', (name) => {
    expect(admittedBy(restricted({ groups: ['staff'] }), person(name))).toBeUndefined()
    expect(admittedBy(restricted({ groups: [name] }), person('staff'))).toBeUndefined()
  })

  test('T05: a group name with a composed letter and one with a decomposed letter are different', () => {
    expect(admittedBy(restricted({ groups: ['caf\u00e9'] }), person('cafe\u0301'))).toBeUndefined()
  })

  test.each([
    ['ada@corp.example.com', true, true],
    ['grace@CORP.Example.com', true, true],
    ['eve@corp.example.com', false, false],
    ['ada@notcorp.example.com', true, false],
    ['ada@sub.corp.example.com', true, false],
    ['ada@corp.example.com.evil.example', true, false],
    ['corp.example.com@evil.example', true, false],
    ['"a@corp.example.com"@evil.example', true, false],
    ['ada@corp.example.com.', true, false],
  ])('the email %s with email_verified %s is in the allowed domain: %s', (email, email_verified, may) => {
    const rule = restricted({ email_domains: ['corp.example.com'] })
    expect(admittedBy(rule, mailed(email, { email_verified })) === 'email_domains').toBe(may)
  })

  test.each(['bücher.example', 'xn--bcher-kva.example', 'XN--BCHER-kva.example'])(
    'an internationalised domain is the same in both forms: %s',
    (domain) => {
      for (const email of ['ada@Bücher.example', 'josé@xn--bcher-kva.example'])
        expect(admittedBy(restricted({ email_domains: [domain] }), mailed(email))).toBe('email_domains')
      for (const email of ['ada@bucher.example', 'ada@xn--bcher-kva.example.org', 'ada@bücher%2eexample'])
        expect(admittedBy(restricted({ email_domains: [domain] }), mailed(email))).toBeUndefined()
    },
  )

  test('a user without an email matches no domain', () => {
    const none = personOf(aUser({ email: undefined, email_verified: true }))
    expect(admittedBy(restricted({ email_domains: ['example.com'] }), none)).toBeUndefined()
  })
})

describe('scopes', () => {
  const notes = aResource({
    scopes: [scope('read'), scope('write', ['editors', 'chiefs']), scope('purge', ['chiefs'])],
  })
  const all = ['read', 'write', 'purge']

  test('a scope with groups is omitted for users outside these groups', () => {
    expect(decideAccess(notes, person(), all)).toEqual({ scope: ['read'] })
    expect(decideAccess(notes, person('editors'), all)).toEqual({ scope: ['read', 'write'] })
    expect(decideAccess(notes, person('chiefs'), all)).toEqual({ scope: all })
    expect(decideAccess(notes, undefined, all)).toEqual({ scope: ['read'] })
  })

  test('a request without a remaining scope is refused because of the groups; a request without scopes is not', () => {
    expect(decideAccess(notes, person(), ['write', 'purge'])).toEqual({ scope: [], refused_by: 'scope_groups' })
    expect(decideAccess(notes, person(), [])).toEqual({ scope: [] })
  })

  test('a user without access is refused before scopes are considered', () => {
    const closed = { ...notes, access: restricted({ groups: ['staff'] }) }
    expect(decideAccess(closed, person('editors'), all)).toEqual({ scope: [], refused_by: 'access' })
    expect(decideAccess(closed, person('staff'), all)).toEqual({ scope: ['read'] })
  })
})

describe('claims', () => {
  const claims = (token_claims: TokenClaim[], user: Partial<User> = {}) =>
    claimsAbout(aResource({ token_claims }), personOf(aUser({ email: 'ada@example.com', name: 'Ada', ...user })))

  test('tokens for a resource have the claims that it requests, and none by default', () => {
    expect(claims([])).toBeUndefined()
    expect(claims(['email'])).toEqual({ email: 'ada@example.com' })
    expect(claims(['groups', 'email_verified', 'name'], { operator_groups: ['b'], provider_groups: ['a'] })).toEqual({
      groups: ['a', 'b'],
      email_verified: true,
      name: 'Ada',
    })
  })

  test('unknown claims of a user are omitted, and a user without groups has an empty list', () => {
    const user = { email: undefined, name: '', email_verified: false }
    expect(claims(['groups', 'email', 'email_verified', 'name'], user)).toEqual({ groups: [] })
    expect(claimsAbout(aResource({ token_claims: ['name'] }), undefined)).toBeUndefined()
  })
})

test('the user is read from the store only for a resource with rules or claims', () => {
  expect(concernsPerson(aResource())).toBe(false)
  expect(concernsPerson(aResource({ access: { ...EVERYONE, groups: ['staff'] } }))).toBe(false)
  expect(concernsPerson(aResource({ access: restricted() }))).toBe(true)
  expect(concernsPerson(aResource({ scopes: [scope('write', ['editors'])] }))).toBe(true)
  expect(concernsPerson(aResource({ token_claims: ['name'] }))).toBe(true)
})
