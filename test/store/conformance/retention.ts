// Rules of what operators let go by age, and of the runs that are remembered.
import { expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import { anEvent, anIssuance, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved, redemption } from './scenes.ts'

export function retentionRules(bench: Bench): void {
  const idAt = (time: number) => idFloor(time).slice(0, 8) + newId().slice(8)

  test('events and expired tokens before a given id are listed oldest first, page by page', async () => {
    const { store, close } = await bench.open()
    const ids = [1, 2, 3, 4].map((hour) => idAt(NOW + hour * 3600))
    for (const id of [...ids].reverse()) {
      await store.recordAudit(anEvent({ id }))
      await store.recordIssuance(anIssuance({ id, expires_at: NOW }))
    }
    await store.recordIssuance(anIssuance({ id: idAt(NOW), expires_at: NOW + 1 }))
    const before = ids[3] ?? ''
    const page = { before, limit: 2, now: NOW }
    const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
    expect(idsOf(await store.listOldAudit({ ...page, after: '' }))).toEqual(ids.slice(0, 2))
    expect(idsOf(await store.listOldAudit({ ...page, after: ids[1] ?? '' }))).toEqual(ids.slice(2, 3))
    expect(idsOf(await store.listOldIssuances({ ...page, after: '' }))).toEqual(ids.slice(0, 2))
    expect(idsOf(await store.listOldIssuances({ ...page, after: ids[1] ?? '' }))).toEqual(ids.slice(2, 3))
    await close()
  })

  test('rows are deleted by id, once, and no other rows are deleted', async () => {
    const [mine, other] = [anIssuance(), anIssuance()]
    for (const each of [mine, other]) await bench.store.recordIssuance(each)
    expect(await bench.store.deleteOldRows({ table: 'issuances', ids: [mine.id] })).toBe(1)
    expect(await bench.store.deleteOldRows({ table: 'issuances', ids: [mine.id] })).toBe(0)
    expect(await bench.store.findIssuance(mine)).toBeUndefined()
    expect(await bench.store.findIssuance(other)).toEqual(other)
  })

  test('a family is deleted when it has no refresh token and no valid access token; a revoked family is deleted with its token records', async () => {
    const { store, close } = await bench.open()
    const later = NOW + 30 * 86_400
    const family = async (refresh_expires: number | undefined, access_expires: number) => {
      const made = redemption(await approved(store))
      await store.redeemCode({
        family: made.family,
        issuance: { ...made.issuance, expires_at: access_expires },
        ...(refresh_expires === undefined ? {} : { refresh: { ...made.refresh, expires_at: refresh_expires } }),
        now: NOW,
      })
      return made
    }
    const refreshable = await family(later + 60, NOW + 900)
    const live = await family(undefined, later + 60)
    const ended = [await family(undefined, NOW + 900), await family(NOW + 60, NOW + 900)]
    const revoked = await family(undefined, NOW + 900)
    await store.revokeFamily({ id: revoked.family.id, reason: 'client_request', now: NOW + 1 })
    const found = async (rows = 2) => {
      const ids: string[] = []
      for (let after: string | undefined = ''; after !== undefined; ) {
        const page: { ids: string[]; next?: string } = await store.listEndedFamilies({
          after,
          rows,
          liveFrom: idFloor(0),
          now: later,
        })
        ids.push(...page.ids)
        after = page.next
      }
      return ids.sort()
    }
    const idsOf = (...all: { family: { id: string } }[]) => all.map((each) => each.family.id).sort()
    // A refresh token that has expired is purged first.
    expect(await found()).toEqual(idsOf(ended[0] as typeof live))
    await store.purgeWindow({ target: 'refresh-tokens', table: 0, after: '', rows: 100, now: later })
    expect(await found()).toEqual(idsOf(...ended))
    expect(await found(100)).toEqual(idsOf(...ended))
    const all = [refreshable, live, revoked, ...ended]
    await store.deleteOldRows({ table: 'issuances', ids: all.map(({ issuance }) => issuance.id) })
    expect(await found()).toEqual(idsOf(live, revoked, ...ended))
    expect(await store.deleteFamilies({ ids: idsOf(revoked, ...ended) })).toBe(3)
    expect(await found()).toEqual(idsOf(live))
    expect((await store.findRefreshToken({ id: refreshable.refresh.id }))?.family.id).toBe(refreshable.family.id)
    await close()
  })

  test('the last run of each purge target is stored', async () => {
    const { store, close } = await bench.open()
    const run = { target: 'sessions', started_at: NOW, finished_at: NOW + 1, deleted: 3, ok: true }
    await store.savePurgeRun({ ...run, ok: false, deleted: 1 })
    await store.savePurgeRun({ ...run, target: 'jti' })
    await store.savePurgeRun(run)
    expect(await store.listPurgeRuns()).toEqual([{ ...run, target: 'jti' }, run])
    await close()
  })
}
