// A table in a card of a page, which reads its rows. The buttons in it read them again.
import type { ComponentChildren } from 'preact'
import type { LoadedAnswer } from '../lib/load.ts'
import { ChangedContext } from './changed.ts'
import { type ListProps, Table } from './list.tsx'
import { Card, ProblemNote } from './text.tsx'

interface TableCardProps<T> extends Pick<ListProps<T>, 'columns' | 'keyOf'> {
  title: string
  /** The label of the table. Default: the title. */
  label?: string
  aside?: ComponentChildren
  of: LoadedAnswer<readonly T[]>
  /** What the card says without rows. Without this text there is no card then. */
  none?: string
  /** Content below the table. */
  children?: ComponentChildren
}

/** The card with its table, or with the reason why there is none. */
export function TableCard<T>({ title, label = title, aside, of, none, children, ...table }: TableCardProps<T>) {
  const { data, error, busy, reload } = of
  const rows = data ?? []
  if (rows.length === 0 && !error && none === undefined) return null
  return (
    <ChangedContext.Provider value={reload}>
      <Card title={title} aside={aside}>
        <ProblemNote error={error} />
        {data && rows.length === 0 && <p class="body soft">{none}</p>}
        {rows.length > 0 && <Table label={label} rows={rows} busy={busy} {...table} />}
        {children}
      </Card>
    </ChangedContext.Provider>
  )
}
