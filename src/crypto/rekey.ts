// Re-encrypts rows of an older key with the newest key, row by row, while instances run. Finished rows stay finished; an interrupted run
// can be started again.
import type { Store } from '../store/index.ts'
import { SEALED_COLUMNS } from '../store/sealed.ts'
import type { AtRest } from './encryption.ts'

export interface Rekeyed {
  table: string
  column: string
  /** Rows that were examined in the last pass. */
  rows: number
  /** Rows that were re-encrypted. */
  resealed: number
  /** Rows that neither key decrypts; the error of the first one. */
  unreadable: number
  error?: string
}

/** Rows that are re-encrypted concurrently: a remote engine gets them in one batch. */
const ROWS = 200

/** Re-encrypts every column until the newest key has encrypted all rows. Yields the progress of the column after every batch. */
export async function* rekey(store: Store, atRest: AtRest): AsyncGenerator<Rekeyed> {
  for (const column of SEALED_COLUMNS.keys()) yield* rekeyColumn(store, atRest, column)
}

/** The next pass finds rows that were changed or added concurrently. */
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
