// What is done to several rows of a list at once.
import { quantity } from '../lib/format.ts'
import { ConfirmButton } from './dialog.tsx'
import { say } from './toast.tsx'

export interface BulkAction<T> {
  /** The operation that is called for each row. */
  operation: string
  verb: string
  /** The effect. */
  effect: string
  harmless?: boolean
  /** Whether it makes sense for a row. */
  fits: (row: T) => boolean
  run: (row: T) => Promise<unknown>
}

interface BarProps<T> {
  actions: readonly BulkAction<T>[]
  rows: readonly T[]
  onDone: () => void
}
/** A button for each action, with the number of marked rows that it fits. */
export const BulkBar = <T,>({ actions, rows, onDone }: BarProps<T>) => (
  <div class="body actions">
    <span role="status">{quantity(rows.length, 'marked row')}</span>
    {actions.map(({ operation, verb, effect, harmless, fits, run }) => {
      const fitting = rows.filter(fits)
      return (
        fitting.length > 0 && (
          <ConfirmButton
            key={operation}
            operation={operation}
            label={`${verb} ${fitting.length}`}
            verb={verb}
            harmless={harmless}
            title={`${verb} ${quantity(fitting.length, 'item')}?`}
            run={() => each(fitting, run)}
            after={onDone}
          >
            {effect}
          </ConfirmButton>
        )
      )
    })}
  </div>
)

/** One after the other, so that many rows are no burst. The first refusal ends it, with the number of those that are done. */
async function each<T>(rows: readonly T[], run: (row: T) => Promise<unknown>): Promise<void> {
  let done = 0
  try {
    for (const row of rows) {
      await run(row)
      done++
    }
  } catch (error) {
    throw new Error(`${done} of ${rows.length} are done. ${(error as Error).message}`)
  }
  say(`Done: ${quantity(done, 'item')}.`)
}
