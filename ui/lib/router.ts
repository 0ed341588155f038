// The location: the path below /admin/ui/ and its query. Every state that users may want to share is in it.
import { useEffect, useState } from 'preact/hooks'
import { segment, withQuery } from './api.ts'

const BASE = '/admin/ui/'

export interface Location {
  /** Decoded segments: `clients`, `abc`. */
  segments: string[]
  query: Record<string, string>
}

function readPlace(): Location {
  const { pathname, search } = window.location
  const path = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : ''
  return {
    segments: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The address of a place; empty values are left out. */
export const href = (segments: readonly string[], query?: Readonly<Record<string, string | undefined>>): string =>
  withQuery(BASE + segments.map(segment).join('/'), query)

const listeners = new Set<() => void>()
const tell = () => {
  for (const each of listeners) each()
}
window.addEventListener('popstate', tell)

interface Step {
  replace?: boolean
  /** The addresses of the earlier pages of a list. The browser keeps them with the entry of its history. */
  earlier?: readonly string[]
}
/** Navigates to an address. With `replace` the current entry of the browser history is replaced. */
export function go(address: string, { replace = false, earlier = [] }: Step = {}): void {
  const state = { earlier }
  if (replace) window.history.replaceState(state, '', address)
  else window.history.pushState(state, '', address)
  tell()
}

/** The addresses of the earlier pages of the list, the first one first. */
export const earlierPages = (): readonly string[] =>
  (window.history.state as { earlier?: readonly string[] } | null)?.earlier ?? []

/** The current location. The component is rendered again when it changes. */
export function usePlace(): Location {
  const [place, setPlace] = useState(readPlace)
  useEffect(() => {
    const listener = () => setPlace(readPlace())
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return place
}

/** Follows links of this page without loading the page again. The browser handles all other links. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return
  const link = event.target instanceof Element ? event.target.closest('a') : undefined
  if (!link || link.target || link.hasAttribute('download') || !link.getAttribute('href')?.startsWith(BASE)) return
  event.preventDefault()
  go(link.getAttribute('href') as string)
  window.scrollTo(0, 0)
}
