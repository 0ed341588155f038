// Requests and tokens by minute, until they are written to the store: in total, and by client, resource and user. In memory, bounded.
import { ownCopy } from '../lib/bounded.ts'
import { addCounts, type RequestCounts } from './client_activity.ts'

/** What a sum is of. `latency`: answers of the token endpoint, by the bucket of their duration. `start`: starts of a version. */
export type ActivityKind = 'all' | NamedKind | 'grant' | 'reason' | 'latency' | 'start'
const NAMED = ['client', 'resource', 'user'] as const
type NamedKind = (typeof NAMED)[number]

/** A sum. The empty name is of everything (`all`), or of those that have no sum of their own. */
export interface ActivitySum extends RequestCounts {
  kind: ActivityKind
  name: string
}

/** The sums of a minute, which begins at `at` (epoch seconds). */
export interface MinuteSums {
  at: number
  sums: ActivitySum[]
}

/** Names of a kind that are counted in a minute. The others are summed. */
const MOST_NAMES = 2000
/** Minutes that wait to be written. The oldest are dropped. */
const MOST_MINUTES = 5
const MAX_NAME = 2048
const MINUTE = 60

type Counts = Map<string, RequestCounts>

/** The sums of one thread. */
export class ActivitySums {
  private readonly minutes = new Map<number, Map<ActivityKind, Counts>>()
  /** The minute that was counted last: most requests belong to it. */
  private last: { at: number; kinds: Map<ActivityKind, Counts> } | undefined

  /** Counts a request, and its token if it got one. `names` are those of the client, the resource and the user, as far as known. */
  record(now: number, names: Readonly<Partial<Record<NamedKind, string | undefined>>>, counts: RequestCounts): void {
    const kinds = this.minuteOf(now)
    add(kinds, 'all', '', counts)
    for (const kind of NAMED) {
      const name = names[kind]
      if (name) add(kinds, kind, name, counts)
    }
  }

  /** Adds sums to a minute. A minute without requests also counts: it was measured. */
  add({ at, sums }: MinuteSums): void {
    const kinds = this.minuteOf(at)
    add(kinds, 'all', '', NOTHING)
    for (const { kind, name, ...counts } of sums) add(kinds, kind, name, counts)
  }

  /** The sums since the last take() that are not of this minute, the oldest first; with `all` also those of this minute. */
  take(now: number, all = false): MinuteSums[] {
    const current = minuteOf(now)
    const taken = this.look().filter(({ at }) => all || at < current)
    for (const { at } of taken) this.minutes.delete(at)
    this.last = undefined
    return taken
  }

  /** The sums that were not taken yet. */
  look(): MinuteSums[] {
    return [...this.minutes]
      .sort(([a], [b]) => a - b)
      .map(([at, kinds]) => ({
        at,
        sums: [...kinds].flatMap(([kind, counts]) => [...counts].map(([name, each]) => ({ kind, name, ...each }))),
      }))
  }

  private minuteOf(now: number): Map<ActivityKind, Counts> {
    const at = minuteOf(now)
    if (this.last?.at === at) return this.last.kinds
    const kinds = this.minutes.get(at) ?? new Map<ActivityKind, Counts>()
    this.minutes.set(at, kinds)
    if (this.minutes.size > MOST_MINUTES) this.minutes.delete(Math.min(...this.minutes.keys()))
    this.last = { at, kinds }
    return kinds
  }
}

const NOTHING: RequestCounts = { requests: 0, refused: 0, limited: 0, issued: 0 }
const minuteOf = (now: number) => now - (now % MINUTE)

function add(kinds: Map<ActivityKind, Counts>, kind: ActivityKind, name: string, counts: RequestCounts): void {
  const ofKind: Counts = kinds.get(kind) ?? new Map()
  kinds.set(kind, ofKind)
  const sum = ofKind.get(name)
  if (sum) addCounts(sum, counts)
  else if (name === '' || (ofKind.size < MOST_NAMES && name.length <= MAX_NAME))
    // A slice of a request text would keep the whole text in memory.
    ofKind.set(ownCopy(name), { ...counts })
  else add(kinds, kind, '', counts)
}

/** The sums of the `most` busiest names of a kind. The rest is one sum without a name. */
export function busiest(sums: readonly ActivitySum[], most: number): ActivitySum[] {
  const weight = ({ requests, refused, issued }: RequestCounts) => requests + refused + issued
  const kept = sums
    .filter(({ name }) => name !== '')
    .sort((a, b) => weight(b) - weight(a))
    .slice(0, most)
  const isKept = new Set(kept)
  const rest = sums.filter((each) => !isKept.has(each))
  if (!rest[0]) return kept
  const sum = { ...NOTHING, kind: rest[0].kind, name: '' }
  for (const each of rest) addCounts(sum, each)
  return [...kept, sum]
}
