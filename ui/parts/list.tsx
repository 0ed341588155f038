// Lists: the server searches and pages them. Filters and the page are in the address, so that a view can be shared.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { get, type QueryParams } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { go, href, type Location, usePlace } from '../lib/router.ts'
import { ProblemNote } from './text.tsx'
import type { Pairs } from './values.ts'

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  kind?: 'number' | 'tight' | 'acts'
}
export interface Filter {
  name: string
  label: string
  /** The choices. Without them the filter is a text field. */
  options?: Pairs
  /** The search field: the key `/` moves to it, and it searches during typing. */
  search?: true
}
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
  /** Number of rows on a page. Absent for lists that the server does not page. */
  page?: number
  /** The text of an empty list. */
  empty: ComponentChildren
  everyMs?: number
  /** Changes when the list must be read again. */
  version?: number
}
const TYPING_MS = 250

/** A list of the admin API as a table. */
export function List<T>(props: ListProps<T>) {
  const { label, path, query, filters = [], columns, keyOf, page, empty, everyMs, version = 0 } = props
  const place = usePlace()
  // A filter that is not chosen leaves the fixed parameter.
  const chosen = Object.fromEntries(
    filters.flatMap(({ name }) => (place.query[name] ? [[name, place.query[name]]] : [])),
  )
  const after = page === undefined ? undefined : place.query['after']
  // One row more than a page is read, to find out whether there is a next page.
  const asked = { ...query, ...chosen, after, limit: page === undefined ? undefined : page + 1 }
  const read = async () => (props.rowsOf ?? ((answer) => answer as T[]))(await get(path, asked))
  const { data = [], error, busy, ...list } = useLoad(JSON.stringify([path, asked, version]), read, everyMs)
  const rows = page === undefined ? data : data.slice(0, page)
  const isFiltered = after !== undefined || Object.values(chosen).some(Boolean)
  const last = rows.at(-1)
  const next = page !== undefined && data.length > page && last ? keyOf(last) : undefined
  const at = (more: Record<string, string | undefined>) => href(place.segments, { ...place.query, ...more })

  if (!busy && !error && rows.length === 0 && !isFiltered) return <div class="card">{empty}</div>
  return (
    <>
      {filters.length > 0 && <Filters filters={filters} place={place} />}
      <div class="card">
        <div class="body" hidden={!error}>
          <ProblemNote error={error} />
        </div>
        <Table label={label} columns={columns} rows={rows} keyOf={keyOf} busy={busy} />
        {!busy && !error && rows.length === 0 && (
          <div class="empty">
            No matches. <a href={href(place.segments)}>Show all</a>
          </div>
        )}
        {(rows.length > 0 || busy) && (
          <div class="pager">
            <span role="status">{busy && rows.length === 0 ? 'Reading…' : countOf(rows.length, next, after)}</span>
            <span class="actions">
              <button type="button" class="quiet" onClick={list.reload}>
                Refresh
              </button>
              {after !== undefined && (
                <a class="button" href={at({ after: undefined })}>
                  First page
                </a>
              )}
              {next !== undefined && (
                <a class="button" href={at({ after: next })}>
                  Next page
                </a>
              )}
            </span>
          </div>
        )}
      </div>
    </>
  )
}

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

const countOf = (count: number, next: string | undefined, after: string | undefined) =>
  next !== undefined || after !== undefined ? `${count} on this page` : quantity(count, 'item')

function Filters({ filters, place }: { filters: readonly Filter[]; place: Location }) {
  const set = (name: string, value: string) =>
    go(href(place.segments, { ...place.query, after: undefined, [name]: value }), { replace: true })
  return (
    <search class="filters">
      {filters.map((filter) => (
        <div key={filter.name} class={filter.search ? 'search' : ''}>
          {filter.options ? (
            <select
              aria-label={filter.label}
              value={place.query[filter.name] ?? ''}
              onChange={(event) => set(filter.name, event.currentTarget.value)}
            >
              <option value="">{filter.label}</option>
              {filter.options.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          ) : (
            <TextFilter
              filter={filter}
              value={place.query[filter.name] ?? ''}
              onText={(text) => set(filter.name, text)}
            />
          )}
        </div>
      ))}
    </search>
  )
}

function TextFilter({ filter, value, onText }: { filter: Filter; value: string; onText: (text: string) => void }) {
  const [text, setText] = useState(value)
  const latest = useRef({ value, onText })
  latest.current = { value, onText }
  useEffect(() => setText(value), [value])
  useEffect(() => {
    const timer = setTimeout(
      () => text.trim() !== latest.current.value && latest.current.onText(text.trim()),
      TYPING_MS,
    )
    return () => clearTimeout(timer)
  }, [text])
  return (
    <input
      type={(filter.search ? 'search' : 'text') as 'search'}
      aria-label={filter.label}
      placeholder={filter.label}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  )
}
