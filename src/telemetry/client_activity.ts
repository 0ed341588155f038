// Client activity: the last protocol steps of each client, with the reason of every failure. In memory, bounded, without secrets.
import { clip, ownCopy } from '../lib/bounded.ts'
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import { redactText } from './redact.ts'

/** A protocol step of a client. */
export type ActivityStep =
  | 'metadata'
  | 'resource_metadata'
  | 'register'
  | 'push'
  | 'authorize'
  | 'device_authorization'
  | 'backchannel_authentication'
  | 'login'
  | 'consent'
  | 'token'
  | 'introspect'
  | 'revoke'

export interface StepOutcome {
  step: ActivityStep
  /** Epoch seconds of the last occurrence. */
  at: number
  status: number
  /** Error code, for failures. */
  error?: string
  /** The error description that the client received, or a remark for the operator. Truncated. */
  detail?: string
  /** The reason of the refusal, as in the log. */
  reason?: string
  /** The parameter whose value was refused, that value, and values that would have been accepted. */
  parameter?: string
  sent?: string
  allowed?: string[]
  request_id: string
  /** Number of consecutive occurrences. */
  count: number
}
export interface ClientActivity {
  /** Empty for steps that name no client. */
  client_id: string
  address: string
  began_at: number
  steps: StepOutcome[]
  /** The requests of the last five minutes in which there were any, oldest first. */
  minutes: MinuteCount[]
}

/** Counts of requests. */
export interface RequestCounts {
  requests: number
  refused: number
  /** Of the refused ones, those that a limit refused (429). */
  limited: number
  /** Tokens. */
  issued: number
}

/** The requests of one minute. */
export interface MinuteCount extends RequestCounts {
  /** Minutes since the epoch. */
  minute: number
}

/** Adds counts to a sum. */
export function addCounts(sum: RequestCounts, more: RequestCounts): void {
  sum.requests += more.requests
  sum.refused += more.refused
  sum.limited += more.limited
  sum.issued += more.issued
}

/** A request as counts. */
export function countsOf({ step, status, error }: Pick<StepOutcome, 'step' | 'status' | 'error'>): RequestCounts {
  const refused = status >= 400 || error !== undefined
  return {
    requests: 1,
    refused: refused ? 1 : 0,
    limited: status === 429 ? 1 : 0,
    issued: step === 'token' && !refused ? 1 : 0,
  }
}

/** How many minutes the shares of refused requests cover. */
const WINDOW = 5

/** The sums of the last five minutes. `now` is in epoch seconds. */
export function lastMinutes({ minutes }: ClientActivity, now: number): RequestCounts {
  const from = Math.floor(now / 60) - WINDOW
  const sum = { requests: 0, refused: 0, limited: 0, issued: 0 }
  for (const each of minutes) if (each.minute > from) addCounts(sum, each)
  return sum
}

/** Adds requests to the counts of their minute. `minutes` is ordered and keeps the last five. */
function addTo(minutes: MinuteCount[], count: MinuteCount): void {
  const last = minutes.at(-1)
  if (last?.minute === count.minute) {
    addCounts(last, count)
    return
  }
  minutes.push({ ...count })
  if (minutes.length > WINDOW) minutes.shift()
}

const [MAX_CLIENTS, MAX_BYTES] = [2000, 8 * MB]
const MAX_STEPS = 30
const MAX_CLIENT_ID = 256
const MAX_DETAIL = 200

/** The activity of a client in one of several threads, with the time of each step in milliseconds: seconds do not order the steps of two threads. */
export interface MarkedActivity {
  activity: ClientActivity
  moments: number[]
}

/** Merges the activity of several threads, most recent first. A client whose requests went to several threads has one entry. */
export function mergeActivity(marked: readonly MarkedActivity[]): ClientActivity[] {
  const groups = new Map<string, { entries: ClientActivity[]; steps: { outcome: StepOutcome; ms: number }[] }>()
  for (const { activity, moments } of marked) {
    const key = `${activity.address} ${activity.client_id}`
    const group = groups.get(key) ?? { entries: [], steps: [] }
    groups.set(key, group)
    group.entries.push(activity)
    group.steps.push(...activity.steps.map((outcome, i) => ({ outcome, ms: moments[i] ?? 0 })))
  }
  const lastMs = ({ steps }: { steps: { ms: number }[] }) => steps.at(-1)?.ms ?? 0
  for (const { steps } of groups.values()) steps.sort((a, b) => a.ms - b.ms)
  return [...groups.values()]
    .sort((a, b) => lastMs(b) - lastMs(a))
    .slice(0, MAX_CLIENTS)
    .map(({ entries, steps }) => ({
      ...(entries[0] as ClientActivity),
      began_at: Math.min(...entries.map(({ began_at }) => began_at)),
      steps: runsOf(steps.map(({ outcome }) => outcome)).slice(-MAX_STEPS),
      minutes: sumMinutes(entries),
    }))
}

function sumMinutes(entries: readonly ClientActivity[]): MinuteCount[] {
  const sums: MinuteCount[] = []
  const all = entries.flatMap(({ minutes }) => minutes).sort((a, b) => a.minute - b.minute)
  for (const each of all) addTo(sums, each)
  return sums
}

/** Combines consecutive steps with the same outcome into one with a count. */
function runsOf(steps: readonly StepOutcome[]): StepOutcome[] {
  const runs: StepOutcome[] = []
  for (const outcome of steps) {
    const last = runs.at(-1)
    if (last && isSame(last, outcome)) runs[runs.length - 1] = { ...outcome, count: last.count + outcome.count }
    else runs.push(outcome)
  }
  return runs
}

const isSame = (a: StepOutcome, b: Omit<StepOutcome, 'count'>): boolean =>
  a.step === b.step && a.reason === b.reason && a.status === b.status && a.sent === b.sent

/** The activity of the clients and addresses that were seen last. */
export class ActivityLog {
  private readonly entries = new Lru<ClientActivity>({ max: MAX_CLIENTS, bytes: MAX_BYTES })
  private readonly moments: WeakMap<StepOutcome, number> | undefined

  /** `isMarking` is set when marked() will be called. */
  constructor(isMarking = false) {
    this.moments = isMarking ? new WeakMap() : undefined
  }

  /** Adds a step. A step with the same outcome as the last one only increases its count. */
  record(client_id: string, address: string, outcome: Omit<StepOutcome, 'count'>): void {
    const sent = client_id.slice(0, MAX_CLIENT_ID)
    const key = `${address} ${sent}`
    let activity = this.entries.get(key)
    if (!activity) {
      // A client may send a secret in place of its id. A slice of a request text would keep the whole text in memory.
      activity = { client_id: redactText(ownCopy(sent)), address, began_at: outcome.at, steps: [], minutes: [] }
    }
    addTo(activity.minutes, { minute: Math.floor(outcome.at / 60), ...countsOf(outcome) })
    const last = activity.steps.at(-1)
    if (last && isSame(last, outcome)) {
      last.at = outcome.at
      last.request_id = outcome.request_id
      last.count++
      this.moments?.set(last, performance.timeOrigin + performance.now())
      return
    }
    const { detail } = outcome
    const first = {
      ...outcome,
      ...(detail === undefined ? {} : { detail: clip(redactText(detail), MAX_DETAIL) }),
      count: 1,
    }
    activity.steps.push(first)
    this.moments?.set(first, performance.timeOrigin + performance.now())
    if (activity.steps.length > MAX_STEPS) activity.steps.shift()
    // It has grown.
    this.entries.set(key, activity)
  }

  /** The activity of every client, most recent first. */
  list(): ClientActivity[] {
    return [...this.entries.values()]
  }

  /** The same, for mergeActivity(). */
  marked(): MarkedActivity[] {
    return this.list().map((activity) => ({
      activity,
      moments: activity.steps.map((outcome) => this.moments?.get(outcome) ?? 0),
    }))
  }
}
