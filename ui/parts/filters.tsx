// The filters of a list. They are in the address, so that a view can be shared.
import { useEffect, useRef, useState } from 'preact/hooks'
import { go, href, type Location } from '../lib/router.ts'
import type { Pairs } from './forms/values.ts'

export interface Filter {
  name: string
  label: string
  /** The choices. Without them the filter is a text field. */
  options?: Pairs
  /** The kind of a text field. Default: text. */
  type?: 'datetime-local'
  /** The search field: the key `/` moves to it, and it searches during typing. */
  search?: true
}
/** The order of a list that begins with the newest items. */
export const OLDEST_FIRST: Filter = { name: 'order', label: 'Newest first', options: [['oldest', 'Oldest first']] }
const TYPING_MS = 250

/** A field or a choice for each filter. */
export function Filters({ filters, place }: { filters: readonly Filter[]; place: Location }) {
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
  const input = (
    <input
      type={(filter.search ? 'search' : (filter.type ?? 'text')) as 'search'}
      aria-label={filter.label}
      placeholder={filter.label}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  )
  // An empty time has no room for a placeholder.
  return filter.type ? (
    <span class="timed soft small">
      {filter.label} {input}
    </span>
  ) : (
    input
  )
}
