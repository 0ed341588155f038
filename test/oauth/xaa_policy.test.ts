// Policies of identity providers, and who their subjects are here.
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { App } from '../../src/context.ts'
import type { Assertion } from '../../src/oauth/federation/id_jag.ts'
import { applyPolicies, resolveSubject } from '../../src/oauth/federation/xaa_policy.ts'
import type { XaaPolicy } from '../../src/records/idp.ts'
import type { Resource } from '../../src/records/resource.ts'
import { aClient, anIdp, anXaaPolicy, aResource, aSubjectMapping, aUser, NOW } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'

const client = aClient({ client_id: 'c_mine' })
const files = aResource({ uri: 'https://files.example.com/mcp' })
const idp = anIdp({ issuer: 'https://idp.example.com' })
const assertion: Assertion = { idp, sub: 'employee-1', jti: 'j', valid_until: NOW + 300, resources: [] }

describe('policies', () => {
  const anything = { client_ids: [], scopes: undefined, resources: [] }
  const aPolicy = (more: Partial<XaaPolicy> = {}) => anXaaPolicy(idp, { ...anything, ...more })

  const evaluate = async (
    policies: XaaPolicy[],
    scope = ['read', 'write'],
    at: { resource?: Resource } = { resource: files },
  ) => {
    const [count, listPolicies] = [vi.fn(), vi.fn(async () => policies)]
    const config = { oauth: { match_root_slash: false } }
    const app = { config, store: { listPolicies }, metrics: { count } } as unknown as App
    try {
      return await applyPolicies(app, assertion, client, at.resource, scope)
    } finally {
      expect(listPolicies).toHaveBeenCalledExactlyOnceWith({ idp_id: idp.id })
      counted = count.mock.calls
    }
  }
  let counted: unknown[]
  const evaluated = (result: string) => [['ext_xaa_policy_evaluation_total', { result }]]
  const isDenied = async (...input: Parameters<typeof evaluate>) => {
    const { code, status, reason } = await refusalOf(() => evaluate(...input))
    expect([code, status, reason]).toEqual(['access_denied', 403, 'policy_denied'])
    expect(counted).toEqual(evaluated('denied'))
  }

  const allowing: [string, Partial<XaaPolicy>, string[]][] = [
    ['names nothing', {}, ['read', 'write']],
    [
      'names the client and the resource',
      { client_ids: ['c', 'c_mine'], resources: ['r', files.uri ?? ''] },
      ['read', 'write'],
    ],
    ['names one of the scopes', { scopes: ['write', 'admin'] }, ['write']],
    ['names all scopes in another order', { scopes: ['write', 'read'] }, ['read', 'write']],
  ]
  test.each(allowing)('a policy that %s grants the scopes that it covers', async (_what, policy, left) => {
    expect(await evaluate([aPolicy(policy)])).toEqual(left)
    expect(counted).toEqual(evaluated('allowed'))
  })

  const denying: [string, Partial<XaaPolicy>][] = [
    ['is switched off', { enabled: false }],
    ['names other clients', { client_ids: ['c', 'c_min', 'C_MINE'] }],
    ['names other resources', { resources: ['https://files.example.com/', 'https://files.example.com/MCP'] }],
    ['names other scopes', { scopes: ['admin', 'READ'] }],
    ['names no scopes at all in its list', { scopes: [] }],
  ]
  test.each(denying)('a policy that %s grants nothing', (_what, policy) => isDenied([aPolicy(policy)]))

  test('without a policy nothing is granted', () => isDenied([]))

  test('for a request without a resource only policies without resources apply', async () => {
    const [named, any] = [aPolicy({ resources: [files.uri ?? ''] }), aPolicy()]
    for (const at of [{}, { resource: aResource({ uri: undefined }) }]) {
      await isDenied([named], ['read'], at)
      expect(await evaluate([named, any], ['read'], at)).toEqual(['read'])
    }
  })

  test('the first policy that grants a scope decides; later policies add nothing', async () => {
    const passedOver = [...denying.map(([, policy]) => aPolicy(policy))]
    const [narrow, wide] = [aPolicy({ scopes: ['read'] }), aPolicy()]
    expect(await evaluate([...passedOver, narrow, wide])).toEqual(['read'])
    expect(await evaluate([...passedOver, wide, narrow])).toEqual(['read', 'write'])
    expect(await evaluate([narrow, wide], ['write'])).toEqual(['write'])
  })

  test('only requested scopes are granted, and none without a matching policy', async () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const policy = fc.record({
      enabled: fc.boolean(),
      client_ids: fc.subarray(['c_mine', 'c_other']),
      resources: fc.subarray([files.uri ?? '', 'https://other.example']),
      scopes: fc.option(fc.uniqueArray(name), { nil: undefined }),
    })
    const check = fc.asyncProperty(fc.array(policy), fc.uniqueArray(name), async (policies, scope) => {
      const matching = policies.filter(
        ({ enabled, client_ids, resources, scopes }) =>
          enabled &&
          (client_ids.length === 0 || client_ids.includes('c_mine')) &&
          (resources.length === 0 || resources.includes(files.uri ?? '')) &&
          // Without a scope, at a resource that declares none, only a policy that limits no scopes covers a request.
          (scopes === undefined || scope.some((each) => scopes.includes(each))),
      )
      const left = await evaluate(policies.map(aPolicy), scope).catch(() => undefined)
      expect(left).toEqual(matching[0] && scope.filter((each) => matching[0]?.scopes?.includes(each) ?? true))
    })
    await fc.assert(check, { numRuns: 500 })
  })
})

describe('subjects', () => {
  interface Known {
    mode?: 'auto_map' | 'strict'
    local_subject?: string
    /** The id of the user who signs in at that issuer with that subject. */
    signs_in?: string
    user?: ReturnType<typeof aUser>
    client_id?: string
  }
  const counts = vi.fn()
  const resolve = (known: Known = {}) => {
    const { mode = 'auto_map', local_subject, signs_in, user, client_id } = known
    counts.mockClear()
    const store = {
      findSubjectMapping: async (input: object) => {
        expect(input).toEqual({ idp_id: idp.id, federated_subject: 'employee-1' })
        return local_subject === undefined ? undefined : aSubjectMapping(idp, { local_subject })
      },
      findSubjectUser: async (input: object) => {
        expect(input).toEqual({ issuer: idp.issuer, sub: 'employee-1' })
        return signs_in
      },
      findUser: async ({ id }: { id: string }) => (user?.id === id ? user : undefined),
      findClient: async (input: object) =>
        client_id && 'client_id' in input && input.client_id === client_id ? aClient({ client_id }) : undefined,
    }
    const app = { config: { xaa: { subject_mode: mode } }, store, metrics: { count: counts } } as unknown as App
    return resolveSubject(app, assertion)
  }
  const counted = (result: string) =>
    expect(counts.mock.calls).toEqual([['ext_xaa_subject_resolutions_total', { result }]])

  test('without a mapping the subject stays a subject of its issuer', async () => {
    expect(await resolve()).toEqual({ sub: 'https://idp.example.com:employee-1' })
    counted('auto_mapped')
  })

  test('in strict mode a subject without a mapping is refused', async () => {
    const { code, reason } = await refusalOf(() => resolve({ mode: 'strict' }))
    expect([code, reason]).toEqual(['access_denied', 'subject_not_mapped'])
    counted('denied')
  })

  test.each(['auto_map', 'strict'] as const)(
    'in mode %s a mapped subject is the local user of the mapping',
    async (mode) => {
      const user = aUser({ id: 'u_ada' })
      expect(await resolve({ mode, local_subject: 'u_ada', user })).toEqual({
        sub: 'u_ada',
        user_version: user.version,
      })
      counted('mapped')
      expect(await resolve({ mode, local_subject: 'payroll' })).toEqual({ sub: 'payroll' })
    },
  )

  test('without a mapping the subject is the user who signs in at that issuer with it; a mapping takes precedence', async () => {
    const user = aUser({ id: 'u_ada' })
    const known = { sub: 'u_ada', user_version: user.version }
    expect(await resolve({ signs_in: 'u_ada', user })).toEqual(known)
    counted('auto_mapped')
    expect(await resolve({ signs_in: 'u_bob', local_subject: 'u_ada', user })).toEqual(known)
    expect((await refusalOf(() => resolve({ mode: 'strict', signs_in: 'u_ada', user }))).reason).toBe(
      'subject_not_mapped',
    )
  })

  const inactive: [string, Known][] = [
    ['a disabled user who signs in there', { signs_in: 'u_ada', user: aUser({ id: 'u_ada', status: 'disabled' }) }],
    ['a disabled user', { local_subject: 'u_ada', user: aUser({ id: 'u_ada', status: 'disabled' }) }],
    ['a deleted user', { local_subject: 'u_ada' }],
    ['a client', { local_subject: 'c_7', client_id: 'c_7' }],
  ]
  test.each(inactive)('a subject is never %s', async (_what, known) => {
    const { code, reason } = await refusalOf(() => resolve(known))
    expect([code, reason]).toEqual(['invalid_grant', 'subject_inactive'])
    counted('denied')
  })
})
