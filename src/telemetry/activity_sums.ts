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
/** Characters of all names of a minute together: callers choose some of them. */
const MOST_CHARACTERS = 256 * 1024
/** Minutes that wait to be written. The oldest are dropped. */
const MOST_MINUTES = 5
const MAX_NAME = 2048
const MINUTE = 60

type Counts = Map<string, RequestCounts>

interface Minute {
  at: number
  kinds: Map<ActivityKind, Counts>
  /** The length of its names together. */
  characters: number
}

/** The sums of one thread. */
export class ActivitySums {
  private readonly minutes = new Map<number, Minute>()
  /** The minute that was counted last: most requests belong to it. */
  private last: Minute | undefined

  /** Counts a request, and its token if it got one. `names` are those of the client, the resource and the user, as far as known. */
  record(now: number, names: Readonly<Partial<Record<NamedKind, string | undefined>>>, counts: RequestCounts): void {
    const minute = this.minuteOf(now)
    add(minute, 'all', '', counts)
    for (const kind of NAMED) {
      const name = names[kind]
      if (name) add(minute, kind, name, counts)
    }
  }

  /** Adds sums to a minute. A minute without requests also counts: it was measured. */
  add({ at, sums }: MinuteSums): void {
    const minute = this.minuteOf(at)
    add(minute, 'all', '', NOTHING)
    for (const { kind, name, ...counts } of sums) add(minute, kind, name, counts)
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
      .map(([at, { kinds }]) => ({
        at,
        sums: [...kinds].flatMap(([kind, counts]) => [...counts].map(([name, each]) => ({ kind, name, ...each }))),
      }))
  }

  private minuteOf(now: number): Minute {
    const at = minuteOf(now)
    if (this.last?.at === at) return this.last
    const minute = this.minutes.get(at) ?? { at, kinds: new Map(), characters: 0 }
    this.minutes.set(at, minute)
    if (this.minutes.size > MOST_MINUTES) this.minutes.delete(Math.min(...this.minutes.keys()))
    this.last = minute
    return minute
  }
}

/** The counts of no request. */
export const NOTHING: RequestCounts = { requests: 0, refused: 0, limited: 0, issued: 0 }
const minuteOf = (now: number) => now - (now % MINUTE)

function add(minute: Minute, kind: ActivityKind, name: string, counts: RequestCounts): void {
  const ofKind: Counts = minute.kinds.get(kind) ?? new Map()
  minute.kinds.set(kind, ofKind)
  const sum = ofKind.get(name)
  if (sum) addCounts(sum, counts)
  else if (name === '' || hasRoom(minute, ofKind, name)) {
    minute.characters += name.length
    // A slice of a request text would keep the whole text in memory.
    ofKind.set(ownCopy(name), { ...counts })
  } else add(minute, kind, '', counts)
}

const hasRoom = ({ characters }: Minute, { size }: Counts, { length }: string): boolean =>
  size < MOST_NAMES && length <= MAX_NAME && characters + length <= MOST_CHARACTERS

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
