// How clients fare on their way in: the last steps of each, with the reason of every failure. In memory, bounded, no secrets.
import { LRUCache } from 'lru-cache'

/** A step on the way of a client, in the words of the protocol. */
export type Step =
  | 'metadata'
  | 'resource_metadata'
  | 'register'
  | 'authorize'
  | 'login'
  | 'consent'
  | 'token'
  | 'introspect'
  | 'revoke'

export interface Passage {
  step: Step
  /** Epoch seconds of the last time. */
  at: number
  status: number
  /** Error code, for failures. */
  error?: string
  /** What was wrong, in the words that the client was told. */
  detail?: string
  /** What exactly was refused, in the words of the log. */
  reason?: string
  request_id: string
  /** How often this happened in a row. */
  count: number
}
export interface Trail {
  /** Empty for steps that name no client. */
  client_id: string
  address: string
  began_at: number
  passages: Passage[]
}

const MAX_TRAILS = 2000
const MAX_PASSAGES = 30
const MAX_CLIENT_ID = 256

/** One list of what several threads saw, last seen first: a client whose requests went to several of them has one trail. */
export function mergeTrails(lists: readonly Trail[][]): Trail[] {
  const merged = new Map<string, Trail>()
  for (const trail of lists.flat()) {
    const key = `${trail.address} ${trail.client_id}`
    const other = merged.get(key)
    merged.set(key, other ? together(other, trail) : trail)
  }
  const lastAt = ({ passages }: Trail) => passages.at(-1)?.at ?? 0
  return [...merged.values()].sort((a, b) => lastAt(b) - lastAt(a)).slice(0, MAX_TRAILS)
}

const together = (a: Trail, b: Trail): Trail => ({
  ...a,
  began_at: Math.min(a.began_at, b.began_at),
  passages: [...a.passages, ...b.passages].sort((x, y) => x.at - y.at).slice(-MAX_PASSAGES),
})

/** The trails of the clients and addresses that were seen last. */
export class Trails {
  private readonly trails = new LRUCache<string, Trail>({ max: MAX_TRAILS })

  /** Adds a step; the same outcome again only counts. */
  record(client_id: string, address: string, passage: Omit<Passage, 'count'>): void {
    const id = client_id.slice(0, MAX_CLIENT_ID)
    const key = `${address} ${id}`
    let trail = this.trails.get(key)
    if (!trail) {
      trail = { client_id: id, address, began_at: passage.at, passages: [] }
      this.trails.set(key, trail)
    }
    const last = trail.passages.at(-1)
    if (last && last.step === passage.step && last.reason === passage.reason && last.status === passage.status) {
      last.at = passage.at
      last.request_id = passage.request_id
      last.count++
      return
    }
    trail.passages.push({ ...passage, count: 1 })
    if (trail.passages.length > MAX_PASSAGES) trail.passages.shift()
  }

  /** Every trail, last seen first. */
  list(): Trail[] {
    return [...this.trails.values()]
  }
}
