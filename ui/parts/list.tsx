// Lists: the server searches and pages them. Filters and the page are in the address, so that a view can be shared.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { getList, type QueryParams } from '../lib/api.ts'
import { number, quantity } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { learnNames } from '../lib/names.ts'
import { earlierPages, go, href, usePlace } from '../lib/router.ts'
import { fullTime, timeOfId } from '../lib/zone.ts'
import { type BulkAction, BulkBar } from './bulk.tsx'
import { type Filter, Filters } from './filters.tsx'
import { ProblemNote } from './text.tsx'

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  kind?: 'number' | 'tight' | 'acts'
}
/** The column with the buttons of a row. */
export const acts = <T,>(cell: Column<T>['cell']): Column<T> => ({ title: 'Actions', kind: 'acts', cell })

export interface ListProps<T> {
  label: string
  /** The path of the list in the admin API. */
  path: string
  /** Fixed parameters. */
  query?: QueryParams
  filters?: readonly Filter[]
  columns: readonly Column<T>[]
  keyOf: (row: T) => string
  /** The rows in an answer. Default: the answer is the list of rows. */
  rowsOf?: (answer: unknown) => T[]
  /** The ids in a row whose names are shown. They are learned first, so that no row changes while it is read. */
  named?: (row: T) => readonly (string | undefined)[]
  /** The parameters that the values of the filters mean. Default: their names and values. */
  ask?: (chosen: Readonly<Record<string, string | undefined>>) => QueryParams
  /** Number of rows on a page. Absent for lists that the server does not page. */
  page?: number
  /** The text of an empty list. */
  empty: ComponentChildren
  everyMs?: number
  /** Number of items without a filter, if the server knows it. */
  total?: number
  /** What can be done to several rows. */
  bulk?: readonly BulkAction<T>[]
  /** Changes when the list must be read again. */
  version?: number
}
const SIZES = [25, 50, 100, 200]

/** A list of the admin API as a table. */
export function List<T>(props: ListProps<T>) {
  const { label, path, query, filters = [], keyOf, page: usual, empty, everyMs, version = 0, bulk = [] } = props
  const place = usePlace()
  const page = usual && (Number(place.query['rows']) || usual)
  // A filter that is not chosen leaves the fixed parameter.
  const chosen = Object.fromEntries(
    filters.flatMap(({ name }) => (place.query[name] ? [[name, place.query[name]]] : [])),
  )
  const after = page === undefined ? undefined : place.query['after']
  // One row more than a page is read, to find out whether there is a next page.
  const asked = {
    ...query,
    ...(props.ask?.(chosen) ?? chosen),
    after,
    limit: page === undefined ? undefined : page + 1,
  }
  const read = async () => {
    const { answer, stopped } = await getList(path, asked)
    const found = (props.rowsOf ?? ((each) => each as T[]))(answer)
    if (props.named) await learnNames(found.flatMap(props.named))
    return { found, stopped }
  }
  const {
    data: { found: data, stopped } = { found: [] },
    error,
    busy,
    ...list
  } = useLoad(JSON.stringify([path, asked, version]), read, everyMs)
  const [hidden, setHidden] = useHidden(label)
  const [marked, setMarked] = useState<readonly string[]>([])
  const rows = page === undefined ? data : data.slice(0, page)
  const isFiltered = after !== undefined || Object.keys(chosen).some((name) => name !== 'order')
  const last = rows.at(-1)
  const next = page !== undefined && data.length > page && last ? keyOf(last) : undefined
  const columns = props.columns.filter(({ title }) => !hidden.includes(title))

  if (!busy && !error && rows.length === 0 && !isFiltered && !stopped) return <div class="card">{empty}</div>
  return (
    <>
      {filters.length > 0 && <Filters filters={filters} place={place} />}
      <div class="card">
        <div class="body" hidden={!error}>
          <ProblemNote error={error} />
        </div>
        {marked.length > 0 && (
          <BulkBar
            actions={bulk}
            rows={rows.filter((row) => marked.includes(keyOf(row)))}
            onDone={() => {
              setMarked([])
              list.reload()
            }}
          />
        )}
        <Table
          label={label}
          columns={bulk.length > 0 ? [markColumn(keyOf, marked, setMarked), ...columns] : columns}
          rows={rows}
          keyOf={keyOf}
          busy={busy}
        />
        {!busy && !error && rows.length === 0 && (
          <div class="empty">
            No matches{stopped && ' so far'}. <a href={href(place.segments)}>Show all</a>
          </div>
        )}
        {!busy && stopped !== undefined && (
          <p class="body" role="status">
            The search stopped at {fullTime(timeOfId(stopped))}: there may be older matches.{' '}
            <a href={href(place.segments, { ...place.query, after: stopped })}>Search further back</a>
          </p>
        )}
        {(rows.length > 0 || busy) && (
          <div class="pager">
            <span role="status">
              {busy && rows.length === 0
                ? 'Reading…'
                : countOf(rows.length, next ?? after, isFiltered ? undefined : props.total)}
            </span>
            <span class="actions">
              <Columns of={props.columns} hidden={hidden} onHidden={setHidden} />
              <button type="button" class="quiet" onClick={list.reload}>
                Refresh
              </button>
              {page !== undefined && <Pages size={page} usual={usual} after={after} next={next} />}
            </span>
          </div>
        )}
      </div>
    </>
  )
}

const countOf = (count: number, more: string | undefined, total: number | undefined) =>
  more === undefined
    ? quantity(count, 'item')
    : `${count} on this page${total === undefined ? '' : `, ${number(total)} in all`}`

interface PagesProps {
  size: number
  usual?: number
  after?: string
  next?: string
}
/** The size of a page, and the way to the other pages. */
function Pages({ size, usual, after, next }: PagesProps) {
  const place = usePlace()
  const earlier = earlierPages()
  const before = earlier.at(-1)
  const at = (more: Record<string, string | undefined>) => href(place.segments, { ...place.query, ...more })
  const follow = (pages: readonly string[]) => (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return
    event.preventDefault()
    go((event.currentTarget as HTMLAnchorElement).getAttribute('href') ?? '', { earlier: pages })
  }
  const here = window.location.pathname + window.location.search
  return (
    <>
      {(size !== usual || next !== undefined || after !== undefined) && (
        <select
          aria-label="Rows on a page"
          value={String(size)}
          onChange={(event) => go(at({ after: undefined, rows: event.currentTarget.value }))}
        >
          {[...new Set([...SIZES, size])].map((each) => (
            <option key={each} value={String(each)}>
              {each} rows
            </option>
          ))}
        </select>
      )}
      {after !== undefined && (
        <a class="button" href={at({ after: undefined })}>
          First page
        </a>
      )}
      {after !== undefined && before !== undefined && (
        <a class="button" href={before} onClick={follow(earlier.slice(0, -1))}>
          Previous page
        </a>
      )}
      {next !== undefined && (
        <a class="button" href={at({ after: next })} onClick={follow([...earlier, here])}>
          Next page
        </a>
      )}
    </>
  )
}

/** The titles of the hidden columns of a list. The browser keeps them. */
function useHidden(label: string): [hidden: readonly string[], set: (hidden: readonly string[]) => void] {
  const key = `service.hidden.${label}`
  const [hidden, setHidden] = useState<readonly string[]>(() => (localStorage.getItem(key) ?? '').split('\n'))
  const set = (titles: readonly string[]) => {
    localStorage.setItem(key, titles.join('\n'))
    setHidden(titles)
  }
  return [hidden, set]
}

interface ColumnsProps {
  of: readonly { title: string; kind?: string }[]
  hidden: readonly string[]
  onHidden: (hidden: readonly string[]) => void
}
/** Boxes that show and hide the columns after the first one. */
const Columns = ({ of, hidden, onHidden }: ColumnsProps) => (
  <details class="columns">
    <summary class="button quiet">Columns</summary>
    <div class="checks">
      {of
        .slice(1)
        .filter(({ kind }) => kind !== 'acts')
        .map(({ title }) => (
          <label key={title}>
            <input
              type="checkbox"
              checked={!hidden.includes(title)}
              onInput={() =>
                onHidden(hidden.includes(title) ? hidden.filter((each) => each !== title) : [...hidden, title])
              }
            />
            {title}
          </label>
        ))}
    </div>
  </details>
)

/** The boxes that mark rows. */
const markColumn = <T,>(
  keyOf: (row: T) => string,
  marked: readonly string[],
  onMarked: (marked: readonly string[]) => void,
): Column<T> => ({
  title: 'Mark',
  kind: 'acts',
  cell: (row) => {
    const key = keyOf(row)
    return (
      <input
        type="checkbox"
        aria-label={`Mark ${key}`}
        checked={marked.includes(key)}
        onInput={() => onMarked(marked.includes(key) ? marked.filter((each) => each !== key) : [...marked, key])}
      />
    )
  },
})

type TableProps<T> = Pick<ListProps<T>, 'label' | 'columns' | 'keyOf'> & { rows: readonly T[]; busy?: boolean }

/** Given rows as a table. */
export const Table = <T,>({ label, columns, rows, keyOf, busy }: TableProps<T>) => (
  <div class="table">
    <table class="cards" aria-label={label} aria-busy={busy}>
      <thead>
        <tr>
          {columns.map(({ title, kind = '' }) => (
            <th key={title} scope="col" class={kind}>
              {kind === 'acts' ? <span class="hidden-label">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, cell, kind = '' }) => (
              <td key={title} class={kind} data-label={title}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
