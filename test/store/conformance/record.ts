// Rules of the lists of issued tokens and audit events: order, filters and pages.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import { anEvent, anIssuance } from '../../support/records.ts'
import type { Bench, Opened } from '../conformance.ts'

const T = 1_700_000_000
/** The id that was made `second` seconds after T. */
const at = (second: number): string => {
  const id = Buffer.from(idFloor(T + second), 'base64url')
  id.writeUInt8(1, 15)
  return id.toString('base64url')
}

export function recordRules(bench: Bench): void {
  let opened: Opened
  beforeAll(async () => {
    opened = await bench.open()
    const { store } = opened
    const issue = (second: number, more: object) =>
      store.recordIssuance(anIssuance({ id: at(second), issued_at: T + second, ...more }))
    // Out of order on purpose.
    await issue(3, { client_id: 'c1', sub: 'alice', resource: 'r1', scope: 'a b', family_id: at(0) })
    await issue(1, { client_id: 'c1', sub: 'alice', resource: 'r2' })
    await issue(2, { client_id: 'c2', sub: 'bob', resource: 'r1' })
    await issue(4, {
      client_id: 'c2',
      sub: 'c2',
      resource: undefined,
      grant_type: 'client_credentials',
      parent_id: at(3),
    })
    const note = (second: number, more: object) =>
      store.recordAudit(anEvent({ id: at(second + 0.5), created_at: T + second, ...more }))
    await note(1, {
      action: 'consent_granted',
      actor_id: 'alice',
      client_id: 'c1',
      request_id: newId(),
      detail: { scope: 'a', n: 1 },
    })
    await note(3, { action: 'client_created', actor_id: 'admin', client_id: 'c2' })
    await note(2, { action: 'consent_granted', actor_id: 'bob' })
  })
  afterAll(() => opened.close())

  describe('issued tokens', () => {
    const list = async (filter: object) =>
      (await opened.store.listIssuances({ since: idFloor(0), limit: 10, ...filter })).map(
        ({ issued_at }) => issued_at - T,
      )

    test('are listed newest first', async () => {
      expect(await list({})).toEqual([4, 3, 2, 1])
    })

    test.each<[string, object, number[]]>([
      ['subject', { sub: 'alice' }, [3, 1]],
      ['a subject that is a client', { sub: 'c2' }, [4]],
      ['client', { client_id: 'c2' }, [4, 2]],
      ['resource', { resource: 'r1' }, [3, 2]],
      ['all of them', { sub: 'alice', client_id: 'c1', resource: 'r1' }, [3]],
      ['a combination without a match', { sub: 'alice', client_id: 'c2' }, []],
      ['time', { since: idFloor(T + 3) }, [4, 3]],
    ])('are listed by %s', async (_what, filter, expected) => {
      expect(await list(filter)).toEqual(expected)
    })

    test('are listed page by page, without gaps or repetitions', async () => {
      expect(await list({ limit: 2 })).toEqual([4, 3])
      expect(await list({ limit: 2, before: at(3) })).toEqual([2, 1])
      expect(await list({ limit: 2, before: at(1) })).toEqual([])
    })
  })

  describe('audit events', () => {
    const audit = (filter: object) => opened.store.listAudit({ since: idFloor(0), limit: 100, offset: 0, ...filter })
    const list = async (filter: object) =>
      (await audit(filter)).map(({ action, created_at }) => `${action} ${created_at - T}`)

    test('are listed newest first, and every issued token is one', async () => {
      expect(await list({})).toEqual([
        'token_issued 4',
        'client_created 3',
        'token_issued 3',
        'consent_granted 2',
        'token_issued 2',
        'consent_granted 1',
        'token_issued 1',
      ])
    })

    test.each<[string, object, string[]]>([
      ['action', { action: 'consent_granted' }, ['consent_granted 2', 'consent_granted 1']],
      [
        'action token_issued',
        { action: 'token_issued' },
        ['token_issued 4', 'token_issued 3', 'token_issued 2', 'token_issued 1'],
      ],
      ['actor', { actor_id: 'alice' }, ['token_issued 3', 'consent_granted 1', 'token_issued 1']],
      ['actor that is a client', { actor_id: 'c2' }, ['token_issued 4']],
      ['client', { client_id: 'c2' }, ['token_issued 4', 'client_created 3', 'token_issued 2']],
      ['all of them', { action: 'consent_granted', actor_id: 'alice', client_id: 'c1' }, ['consent_granted 1']],
      ['a combination without a match', { action: 'consent_granted', actor_id: 'admin' }, []],
      ['time', { since: idFloor(T + 2), until: idFloor(T + 3) }, ['consent_granted 2', 'token_issued 2']],
    ])('are listed by %s', async (_what, filter, expected) => {
      expect(await list(filter)).toEqual(expected)
    })

    test('are listed page by page, with tokens and events in one order', async () => {
      const whole = await list({})
      for (const limit of [1, 2, 3]) {
        const pages: string[] = []
        for (let offset = 0; offset < whole.length; offset += limit) pages.push(...(await list({ limit, offset })))
        expect(pages).toEqual(whole)
      }
      expect(await list({ offset: 7 })).toEqual([])
    })

    test('an event is read back in every field', async () => {
      const [event] = await audit({ action: 'consent_granted', actor_id: 'alice' })
      expect(event).toMatchObject({ id: at(1.5), client_id: 'c1', ip: '192.0.2.1', detail: { scope: 'a', n: 1 } })
      expect(event?.request_id).toMatch(/^[\w-]{22}$/)
      expect((await audit({ action: 'consent_granted', actor_id: 'bob' }))[0]).toMatchObject({
        client_id: undefined,
        request_id: undefined,
        detail: {},
      })
    })

    test('the event of an issued token has its id, its client, its resource and its address', async () => {
      const [machine, user] = await audit({ action: 'token_issued' })
      expect(user?.detail).toEqual({
        jti: at(3),
        grant_type: 'authorization_code',
        scope: 'a b',
        resource: 'r1',
        family: at(0),
      })
      expect(machine).toMatchObject({ id: at(4), actor_id: 'c2', request_id: at(4), detail: { parent: at(3) } })
      expect(machine?.detail).not.toHaveProperty('resource')
    })
  })
}
