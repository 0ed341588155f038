// The values of one metric by its labels. Finding a value costs one lookup per label; prom-client would hash all labels on every
// call.

export type Labels = Readonly<Record<string, string>>

/** One child of a metric: its label values, and what is counted for them. */
export interface Cell<P> {
  readonly labels: Labels
  readonly held: P
}
type Branch<P> = Map<string, Branch<P> | Cell<P>>

/** Maximum number of cells of one metric. It bounds memory and scrape when a label gets more values than intended. */
const MAX_CELLS = 2000
const OVERFLOW = 'other'

/** The cells of one metric. */
export class MetricFamily<P> {
  readonly cells: Cell<P>[] = []
  private readonly root: Branch<P> = new Map()
  private readonly names: readonly string[]
  private readonly make: () => P

  constructor(names: readonly string[], make: () => P) {
    this.names = names
    this.make = make
  }

  /** The value for these labels, created at the first call. When the metric has its maximum number of cells, every label of a new one is `other`. */
  of(labels: Labels | undefined): P {
    let at: Branch<P> | Cell<P> | undefined = this.root
    for (let i = 0; i < this.names.length && at; i++) {
      at = (at as Branch<P>).get(labels?.[this.names[i] as string] ?? '')
    }
    if (this.names.length === 0) at = this.root.get('')
    return (at as Cell<P> | undefined)?.held ?? this.add(labels ?? {})
  }

  private add(given: Labels): P {
    const isFull = this.cells.length >= MAX_CELLS
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
    const cell = { labels, held: this.make() }
    branch.set(last, cell)
    this.cells.push(cell)
    return cell.held
  }
}

/** The value of a counter. */
export interface Tally {
  value: number
}
