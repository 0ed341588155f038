// How clients fare on their way in: the last steps of each, with the reason of every failure. In memory, bounded, no secrets.
import { clip, ownCopy } from '../lib/bounded.ts'
import { Lru } from '../lib/lru.ts'
import { redactText } from './redact.ts'

/** A step on the way of a client, in the words of the protocol. */
export type ActivityStep =
  | 'metadata'
  | 'resource_metadata'
  | 'register'
  | 'authorize'
  | 'login'
  | 'consent'
  | 'token'
  | 'introspect'
  | 'revoke'

export interface StepOutcome {
  step: ActivityStep
  /** Epoch seconds of the last time. */
  at: number
  status: number
  /** Error code, for failures. */
  error?: string
  /** What was wrong, in the words that the client got, or what an operator should know; the beginning of a long text. */
  detail?: string
  /** What exactly was refused, in the words of the log. */
  reason?: string
  request_id: string
  /** How often this happened in a row. */
  count: number
}
export interface ClientActivity {
  /** Empty for steps that name no client. */
  client_id: string
  address: string
  began_at: number
  passages: StepOutcome[]
}

const MAX_TRAILS = 2000
const MAX_PASSAGES = 30
const MAX_CLIENT_ID = 256
const MAX_DETAIL = 200

/** A trail of one of several threads, with the moment (milliseconds) of each of its passages: their seconds do not tell which was first. */
export interface MarkedActivity {
  trail: ClientActivity
  moments: number[]
}

/** One list of what several threads saw, last seen first: a client whose requests went to several of them has one trail. */
export function mergeActivity(marked: readonly MarkedActivity[]): ClientActivity[] {
  const groups = new Map<string, { trails: ClientActivity[]; steps: { passage: StepOutcome; ms: number }[] }>()
  for (const { trail, moments } of marked) {
    const key = `${trail.address} ${trail.client_id}`
    const group = groups.get(key) ?? { trails: [], steps: [] }
    groups.set(key, group)
    group.trails.push(trail)
    group.steps.push(...trail.passages.map((passage, i) => ({ passage, ms: moments[i] ?? 0 })))
  }
  const lastMs = ({ steps }: { steps: { ms: number }[] }) => steps.at(-1)?.ms ?? 0
  for (const { steps } of groups.values()) steps.sort((a, b) => a.ms - b.ms)
  return [...groups.values()]
    .sort((a, b) => lastMs(b) - lastMs(a))
    .slice(0, MAX_TRAILS)
    .map(({ trails, steps }) => ({
      ...(trails[0] as ClientActivity),
      began_at: Math.min(...trails.map(({ began_at }) => began_at)),
      passages: runsOf(steps.map(({ passage }) => passage)).slice(-MAX_PASSAGES),
    }))
}

/** The same outcome several times in a row is one passage that counts. */
function runsOf(passages: readonly StepOutcome[]): StepOutcome[] {
  const runs: StepOutcome[] = []
  for (const passage of passages) {
    const last = runs.at(-1)
    if (last && isSame(last, passage)) runs[runs.length - 1] = { ...passage, count: last.count + passage.count }
    else runs.push(passage)
  }
  return runs
}

const isSame = (a: StepOutcome, b: Omit<StepOutcome, 'count'>): boolean =>
  a.step === b.step && a.reason === b.reason && a.status === b.status

/** The trails of the clients and addresses that were seen last. */
export class ActivityLog {
  private readonly trails = new Lru<ClientActivity>(MAX_TRAILS)
  private readonly moments: WeakMap<StepOutcome, number> | undefined

  /** `isMarking` where marked() will be asked for. */
  constructor(isMarking = false) {
    this.moments = isMarking ? new WeakMap() : undefined
  }

  /** Adds a step; the same outcome again only counts. */
  record(client_id: string, address: string, passage: Omit<StepOutcome, 'count'>): void {
    // Copies: what came with a request must not stay in memory with a part of it.
    const id = ownCopy(client_id.slice(0, MAX_CLIENT_ID))
    const key = `${address} ${id}`
    let trail = this.trails.get(key)
    if (!trail) {
      // A client may have put a secret where its id belongs.
      trail = { client_id: redactText(id), address, began_at: passage.at, passages: [] }
      this.trails.set(key, trail)
    }
    const last = trail.passages.at(-1)
    if (last && isSame(last, passage)) {
      last.at = passage.at
      last.request_id = passage.request_id
      last.count++
      this.moments?.set(last, performance.timeOrigin + performance.now())
      return
    }
    const { detail } = passage
    const first = {
      ...passage,
      ...(detail === undefined ? {} : { detail: clip(redactText(detail), MAX_DETAIL) }),
      count: 1,
    }
    trail.passages.push(first)
    this.moments?.set(first, performance.timeOrigin + performance.now())
    if (trail.passages.length > MAX_PASSAGES) trail.passages.shift()
  }

  /** Every trail, last seen first. */
  list(): ClientActivity[] {
    return [...this.trails.values()]
  }

  /** The same for mergeTrails(). */
  marked(): MarkedActivity[] {
    return this.list().map((trail) => ({
      trail,
      moments: trail.passages.map((passage) => this.moments?.get(passage) ?? 0),
    }))
  }
}
