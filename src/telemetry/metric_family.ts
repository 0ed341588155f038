// What was counted or measured under one name, by label values. Finding the place costs a lookup per label, adding to it an
// addition; prom-client would hash all labels on every call.

export type Labels = Readonly<Record<string, string>>

/** The label values of one place in a family, in the order of the label names. */
export interface Cell<P> {
  readonly labels: Labels
  readonly held: P
}
type Branch<P> = Map<string, Branch<P> | Cell<P>>

/** Most places of one family: whatever goes wrong with a label, memory and scrape stay bounded. */
const MAX_PLACES = 2000
const OVERFLOW = 'other'

/** The places of one metric. */
export class MetricFamily<P> {
  readonly places: Cell<P>[] = []
  private readonly root: Branch<P> = new Map()
  private readonly names: readonly string[]
  private readonly make: () => P

  constructor(names: readonly string[], make: () => P) {
    this.names = names
    this.make = make
  }

  /** What is held for these label values; made at the first call. Beyond the bound all values are `other`. */
  of(labels: Labels | undefined): P {
    let at: Branch<P> | Cell<P> | undefined = this.root
    for (let i = 0; i < this.names.length && at; i++) {
      at = (at as Branch<P>).get(labels?.[this.names[i] as string] ?? '')
    }
    if (this.names.length === 0) at = this.root.get('')
    return (at as Cell<P> | undefined)?.held ?? this.add(labels ?? {})
  }

  private add(given: Labels): P {
    const isFull = this.places.length >= MAX_PLACES
    const values = this.names.map((name) => (isFull ? OVERFLOW : (given[name] ?? '')))
    const path = values.length > 0 ? values : ['']
    let branch = this.root
    for (const value of path.slice(0, -1)) {
      const next = (branch.get(value) ?? new Map()) as Branch<P>
      branch.set(value, next)
      branch = next
    }
    const last = path.at(-1) as string
    const known = branch.get(last) as Cell<P> | undefined
    if (known) return known.held
    const labels = Object.fromEntries(this.names.map((name, i) => [name, values[i] as string]))
    const place = { labels, held: this.make() }
    branch.set(last, place)
    this.places.push(place)
    return place.held
  }
}

/** A number that only grows. */
export interface Tally {
  value: number
}

/** Durations in buckets: how many were at most as long as each bound, and all of them at the end. */
export interface Timings {
  readonly bounds: readonly number[]
  /** One more than there are bounds; not cumulative. */
  readonly counts: number[]
  sum: number
}
export const newTimings = (bounds: readonly number[]): Timings => ({
  bounds,
  counts: new Array<number>(bounds.length + 1).fill(0),
  sum: 0,
})

/** Adds a duration. */
export function addTiming(timings: Timings, seconds: number): void {
  const { bounds, counts } = timings
  let i = 0
  while (i < bounds.length && seconds > (bounds[i] as number)) i++
  counts[i] = (counts[i] as number) + 1
  timings.sum += seconds
}
