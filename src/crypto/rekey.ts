// Seals again, under the newest key, what an older one has sealed: row by row, beside running instances. What is done stays
// done; a run that was interrupted is simply run again.
import type { Store } from '../store/index.ts'
import { SEALED_COLUMNS } from '../store/sealed.ts'
import type { AtRest } from './encryption.ts'

export interface Rekeyed {
  table: string
  column: string
  /** Rows that were looked at in the last pass. */
  rows: number
  /** Rows that were sealed again. */
  resealed: number
  /** Rows that neither key opens; what is wrong with the first one. */
  unreadable: number
  error?: string
}

/** Rows that are sealed again at once: an engine is asked for all of them together. */
const ROWS = 200

/** Goes through every sealed column until nothing is left that the newest key did not seal. Yields after every batch how far the column is. */
export async function* rekey(store: Store, atRest: AtRest): AsyncGenerator<Rekeyed> {
  for (const column of SEALED_COLUMNS.keys()) yield* rekeyColumn(store, atRest, column)
}

/** A row that somebody else changed meanwhile, or that came behind our back, is found by the next pass. */
async function* rekeyColumn(store: Store, atRest: AtRest, column: number): AsyncGenerator<Rekeyed> {
  const { table, column: name, purpose } = SEALED_COLUMNS[column] as (typeof SEALED_COLUMNS)[number]
  let resealed = 0
  for (let found = true; found; ) {
    found = false
    const pass: Rekeyed = { table, column: name, rows: 0, resealed, unreadable: 0 }
    for (let after: string | undefined, more = true; more; ) {
      const batch = await store.listSealed({ column, after, rows: ROWS })
      const old = batch.filter(({ sealed }) => !atRest.isCurrent(sealed))
      const opened = await Promise.allSettled(old.map(({ row, sealed }) => atRest.open(purpose, row, sealed)))
      await Promise.all(
        old.map(async ({ id, row, sealed }, i) => {
          const text = opened[i] as PromiseSettledResult<string>
          if (text.status === 'rejected') {
            pass.unreadable++
            pass.error ??= (text.reason as Error).message
            return
          }
          const again = await atRest.seal(purpose, row, text.value)
          if (await store.replaceSealed({ column, id, before: sealed, after: again })) resealed++
          found = true
        }),
      )
      pass.rows += batch.length
      pass.resealed = resealed
      yield { ...pass }
      after = batch.at(-1)?.id
      more = batch.length === ROWS
    }
  }
}
