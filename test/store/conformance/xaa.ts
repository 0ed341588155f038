// Rules of operations on identity providers, their policies and their subject mappings.
import { describe, expect, test } from 'vitest'
import type { Idp } from '../../../src/records/idp.ts'
import { anIdp, anXaaPolicy, aSubjectMapping, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function xaaRules(bench: Bench): void {
  const created = async (more: Partial<Idp> = {}) => {
    const idp = anIdp(more)
    expect(await bench.store.createIdp(idp)).toBe('created')
    return idp
  }
  const byIssuer = ({ issuer }: Idp) => bench.store.findIdpByIssuer({ issuer })

  describe('identity providers', () => {
    test('an identity provider is read back by id and issuer', async () => {
      for (const idp of [
        await created(),
        await created({ enabled: false, subject_tokens: true, audiences: ['a', 'ä b'] }),
      ]) {
        expect(await bench.store.findIdp({ id: idp.id })).toEqual(idp)
        expect(await byIssuer(idp)).toEqual(idp)
      }
      expect(await bench.store.findIdp({ id: 'nothing' })).toBeUndefined()
    })

    test('an issuer is compared byte by byte', async () => {
      const { issuer } = await created()
      for (const other of [`${issuer}/`, issuer.replace('example', 'EXAMPLE'), ` ${issuer}`])
        expect(await bench.store.findIdpByIssuer({ issuer: other })).toBeUndefined()
    })

    test('a second identity provider with the same issuer is refused, also concurrently', async () => {
      const { issuer } = anIdp()
      const outcomes = await Promise.all([1, 2, 3].map(() => bench.store.createIdp(anIdp({ issuer }))))
      expect(outcomes.sort()).toEqual(['created', 'exists', 'exists'])
    })

    test('an identity provider that was looked up before it existed is found afterwards', async () => {
      const idp = anIdp()
      expect(await byIssuer(idp)).toBeUndefined()
      await bench.store.createIdp(idp)
      expect(await byIssuer(idp)).toEqual(idp)
    })

    test('a change is seen at once and moves the version on; one of what was read before it is stale', async () => {
      const idp = await created()
      await byIssuer(idp)
      const changed = {
        ...idp,
        name: 'B',
        audience: 'x',
        jwks_uri: 'https://b',
        enabled: false,
        subject_tokens: true,
        audiences: ['x'],
        updated_at: NOW + 1,
      }
      expect(await bench.store.updateIdp(changed)).toBe('updated')
      expect(await byIssuer(idp)).toEqual({ ...changed, version: 2 })
      expect(await bench.store.updateIdp({ ...idp, name: 'C' })).toBe('stale')
      expect((await byIssuer(idp))?.name).toBe('B')
    })

    test('identity providers are listed oldest first', async () => {
      const { store, close } = await bench.open()
      expect(await store.listIdps()).toEqual([])
      const [late, tie, early] = [
        anIdp({ id: 'b', created_at: NOW + 1 }),
        anIdp({ id: 'a', created_at: NOW + 1 }),
        anIdp({ id: 'c' }),
      ]
      for (const idp of [late, tie, early]) await store.createIdp(idp)
      expect(await store.listIdps()).toEqual([early, tie, late])
      await close()
    })

    test('deleting an identity provider deletes only its own policies and mappings', async () => {
      const [idp, other] = [await created(), await created()]
      for (const each of [idp, idp, other]) await bench.store.createPolicy(anXaaPolicy(each))
      for (const each of [idp, other]) await bench.store.createSubjectMapping(aSubjectMapping(each))
      const seen = async (each: Idp) => [
        (await byIssuer(each)) !== undefined,
        (await bench.store.listPolicies({ idp_id: each.id })).length,
        (await bench.store.findSubjectMapping(aSubjectMapping(each))) !== undefined,
      ]
      expect([await seen(idp), await seen(other)]).toEqual([
        [true, 2, true],
        [true, 1, true],
      ])
      expect(await bench.store.deleteIdp(idp)).toEqual({ policies: 2, subject_mappings: 1 })
      expect([await seen(idp), await seen(other)]).toEqual([
        [false, 0, false],
        [true, 1, true],
      ])
      expect(await bench.store.deleteIdp(idp)).toBeUndefined()
    })

    test('policies and mappings that are created during the deletion of their identity provider are deleted too', async () => {
      const idp = await created()
      const more = () => [
        bench.store.createPolicy(anXaaPolicy(idp)),
        bench.store.createSubjectMapping(aSubjectMapping(idp)),
      ]
      await Promise.all([...more(), bench.store.deleteIdp(idp), ...more()])
      expect(await bench.store.listPolicies({ idp_id: idp.id })).toEqual([])
      expect(await bench.store.listSubjectMappings({ idp_id: idp.id })).toEqual([])
    })
  })

  describe('policies', () => {
    test('no scope limit and an empty scope list are different', async () => {
      const idp = await created()
      for (const scopes of [undefined, [], ['a', 'b']]) {
        const policy = anXaaPolicy(idp, { scopes, client_ids: [], resources: [], enabled: false })
        expect(await bench.store.createPolicy(policy)).toBe('created')
        expect(await bench.store.findPolicy(policy)).toEqual(policy)
      }
    })

    test('one of no identity provider is not written', async () => {
      const policy = anXaaPolicy(anIdp())
      expect(await bench.store.createPolicy(policy)).toBeUndefined()
      expect(await bench.store.findPolicy(policy)).toBeUndefined()
    })

    test('policies of an identity provider are listed in order of creation, also within one second', async () => {
      const [idp, other] = [await created(), await created()]
      const list = async () => (await bench.store.listPolicies({ idp_id: idp.id })).map(({ id }) => id)
      expect(await list()).toEqual([])
      // In the order of their bytes; that of their characters is another one.
      const [z, zero, dash] = ['z', '0', '-'].map((char) => `p_AaH9Gq8${char}cACbXxhj-vR41Q`)
      for (const policy of [
        anXaaPolicy(idp, { id: dash, created_at: NOW + 1 }),
        anXaaPolicy(idp, { id: z, created_at: NOW + 1 }),
        anXaaPolicy(other),
        anXaaPolicy(idp, { id: 'p_ZZZ', created_at: NOW }),
        anXaaPolicy(idp, { id: zero, created_at: NOW + 1 }),
      ])
        await bench.store.createPolicy(policy)
      expect(await list()).toEqual(['p_ZZZ', z, zero, dash])
      expect((await bench.store.listPolicies({})).map(({ idp_id }) => idp_id)).toContain(other.id)
    })

    test('the deletion of a policy is visible at once, and a second deletion finds nothing', async () => {
      const policy = anXaaPolicy(await created())
      await bench.store.createPolicy(policy)
      expect(await bench.store.listPolicies(policy)).toEqual([policy])
      expect(await bench.store.deletePolicy({ id: policy.id })).toEqual(policy)
      expect(await bench.store.listPolicies(policy)).toEqual([])
      expect(await bench.store.deletePolicy({ id: policy.id })).toBeUndefined()
    })

    test('a change is seen at once and moves the version on; one of what was read before it is stale', async () => {
      const idp = await created()
      const policy = anXaaPolicy(idp)
      await bench.store.createPolicy(policy)
      await bench.store.listPolicies({ idp_id: idp.id })
      const changed = { ...policy, name: 'B', client_ids: [], scopes: undefined, resources: [], enabled: false }
      expect(await bench.store.updatePolicy(changed)).toBe('updated')
      expect(await bench.store.listPolicies({ idp_id: idp.id })).toEqual([{ ...changed, version: 2 }])
      expect(await bench.store.updatePolicy(policy)).toBe('stale')
      expect(await bench.store.findPolicy(policy)).toEqual({ ...changed, version: 2 })
    })
  })

  describe('subject mappings', () => {
    test('a mapping is found by identity provider and subject, byte by byte', async () => {
      const [idp, other] = [await created(), await created()]
      const mapping = aSubjectMapping(idp)
      expect(await bench.store.findSubjectMapping(mapping)).toBeUndefined()
      expect(await bench.store.createSubjectMapping(mapping)).toBe('created')
      expect(await bench.store.findSubjectMapping(mapping)).toEqual(mapping)
      const find = (idp_id: string, federated_subject: string) =>
        bench.store.findSubjectMapping({ idp_id, federated_subject })
      expect(await find(other.id, mapping.federated_subject)).toBeUndefined()
      expect(await find(idp.id, mapping.federated_subject.toUpperCase())).toBeUndefined()
      expect(await find(idp.id, `${mapping.federated_subject} `)).toBeUndefined()
    })

    test('a second mapping of a subject of one identity provider is refused', async () => {
      const [idp, other] = [await created(), await created()]
      const create = (each: Idp) => bench.store.createSubjectMapping(aSubjectMapping(each))
      const [one, two, apart] = await Promise.all([idp, idp, other].map(create))
      expect([one, two].sort()).toEqual(['created', 'exists'])
      expect(apart).toBe('created')
    })

    test('one of no identity provider is not written', async () => {
      const mapping = aSubjectMapping(anIdp())
      expect(await bench.store.createSubjectMapping(mapping)).toBeUndefined()
      expect(await bench.store.findSubjectMapping(mapping)).toBeUndefined()
    })

    test('they are listed oldest first, of one identity provider or of all, and deleted once', async () => {
      const [idp, other] = [await created(), await created()]
      const [late, early, foreign] = [
        aSubjectMapping(idp, { created_at: NOW + 1 }),
        aSubjectMapping(idp, { federated_subject: 'employee-2' }),
        aSubjectMapping(other),
      ]
      for (const mapping of [late, early, foreign]) await bench.store.createSubjectMapping(mapping)
      expect(await bench.store.listSubjectMappings({ idp_id: idp.id })).toEqual([early, late])
      expect(await bench.store.listSubjectMappings({})).toEqual(expect.arrayContaining([early, late, foreign]))
      await bench.store.findSubjectMapping(late)
      expect(await bench.store.deleteSubjectMapping({ id: late.id })).toEqual(late)
      expect(await bench.store.findSubjectMapping(late)).toBeUndefined()
      expect(await bench.store.deleteSubjectMapping({ id: late.id })).toBeUndefined()
    })
  })
}
