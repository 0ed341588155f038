// Rules of what operators let go by age, and of the runs that are remembered.
import { expect, test } from 'vitest'
import { idFloor, newId } from '../../../src/lib/id.ts'
import { anEvent, anIssuance, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function retentionRules(bench: Bench): void {
  const idAt = (time: number) => idFloor(time).slice(0, 8) + newId().slice(8)

  test('old events and expired tokens are listed oldest first, page by page, before an id only', async () => {
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

  test('rows are deleted by their ids, once, and no others', async () => {
    const [mine, other] = [anIssuance(), anIssuance()]
    for (const each of [mine, other]) await bench.store.recordIssuance(each)
    expect(await bench.store.deleteOldRows({ table: 'issuances', ids: [mine.id] })).toBe(1)
    expect(await bench.store.deleteOldRows({ table: 'issuances', ids: [mine.id] })).toBe(0)
    expect(await bench.store.findIssuance(mine)).toBeUndefined()
    expect(await bench.store.findIssuance(other)).toEqual(other)
  })

  test('of every target the last run is remembered', async () => {
    const { store, close } = await bench.open()
    const run = { target: 'sessions', started_at: NOW, finished_at: NOW + 1, deleted: 3, ok: true }
    await store.savePurgeRun({ ...run, ok: false, deleted: 1 })
    await store.savePurgeRun({ ...run, target: 'jti' })
    await store.savePurgeRun(run)
    expect(await store.listPurgeRuns()).toEqual([{ ...run, target: 'jti' }, run])
    await close()
  })
}
