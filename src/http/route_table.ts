// Finds the routes of a path: by the whole path, otherwise segment by segment.
import type { Method, Route } from './route.ts'

export interface Match {
  route: Route
  params: Readonly<Record<string, string>>
}
const NO_PARAMS = Object.freeze({})

/** The routes of a listener. Throws when two have the same method and path. */
export class RouteTable {
  private readonly exact = new Map<string, Map<Method, Match>>()
  private readonly patterns: { segments: string[]; rest: boolean; methods: Map<Method, Route> }[] = []

  constructor(routes: readonly Route[]) {
    const byPath = new Map<string, Map<Method, Route>>()
    for (const route of routes) {
      const methods = byPath.get(route.path) ?? new Map<Method, Route>()
      if (methods.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`)
      byPath.set(route.path, methods.set(route.method, route))
    }
    for (const [path, methods] of byPath) {
      if (path.includes('{')) this.patterns.push({ segments: path.split('/'), rest: path.endsWith('...}'), methods })
      else this.exact.set(path, new Map([...methods].map(([method, route]) => [method, { route, params: NO_PARAMS }])))
    }
    // Patterns with fewer parameters first: `/users/me/{part}` has precedence over `/users/{id}/{part}`. Patterns that match the rest of a path are last.
    const order = ({ segments, rest }: { segments: string[]; rest: boolean }) =>
      (rest ? 1000 : 0) + segments.filter((each) => each.startsWith('{')).length
    this.patterns.sort((a, b) => order(a) - order(b))
  }

  /** Returns the routes of a path by method; undefined when there are none. */
  find(path: string): ReadonlyMap<Method, Match> | undefined {
    const exact = this.exact.get(path)
    if (exact) return exact
    const segments = path.split('/')
    for (const pattern of this.patterns) {
      const params = matchSegments(pattern.segments, segments, pattern.rest)
      if (params) return new Map([...pattern.methods].map(([method, route]) => [method, { route, params }]))
    }
    return undefined
  }
}

function matchSegments(pattern: string[], segments: string[], rest: boolean): Record<string, string> | undefined {
  if (rest ? segments.length < pattern.length : segments.length !== pattern.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of pattern.entries()) {
    const segment = segments[i] as string
    if (!part.startsWith('{')) {
      if (part !== segment) return undefined
      continue
    }
    const last = rest && i === pattern.length - 1
    const text = last ? segments.slice(i).join('/') : segment
    // The rest of a path that cannot be decoded has a handler, too: it answers in its own form.
    const value = decodeSegment(text) ?? (last ? text : undefined)
    if (!value) return undefined
    params[part.slice(1, last ? -4 : -1)] = value
  }
  return params
}

function decodeSegment(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text)
    return value.includes('\0') ? undefined : value
  } catch {
    return undefined
  }
}
