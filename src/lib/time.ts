// Times are epoch seconds, durations are seconds. Text forms are RFC 3339 and Go duration strings.

/** The clock of the service; tests pass their own. */
export interface Clock {
  /** Epoch seconds, whole. */
  now(): number
}
export const systemClock: Clock = { now: () => Math.floor(Date.now() / 1000) }

/** Epoch milliseconds of a clock: its seconds, with the milliseconds of the system within the same second. */
export function millisOf(clock: Clock): number {
  for (;;) {
    const second = systemClock.now()
    const seconds = clock.now()
    const ms = Date.now()
    if (Math.floor(ms / 1000) === second) return seconds * 1000 + (ms % 1000)
  }
}

export const HOUR = 3600
export const DAY = 24 * HOUR

const UNITS: Record<string, number> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6, // U+00B5
  μs: 1e-6, // U+03BC
  ms: 1e-3,
  s: 1,
  m: 60,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
}
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)/y
/** The form of a duration, for JSON Schema. */
export const DURATION_PATTERN = `^(0|(${PART.source})+)$`

/** Seconds of a Go duration string (`10s`, `1h30m`, `1.5h`), also with `d` and `w`. Undefined when it is invalid or negative. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  let seconds = 0
  let at = 0
  while (at < text.length) {
    PART.lastIndex = at
    const part = PART.exec(text)
    if (!part) return undefined
    seconds += Number(part[1]) * (UNITS[part[2] as string] as number)
    at = PART.lastIndex
  }
  return at === 0 || !Number.isFinite(seconds) ? undefined : Math.round(seconds * 1e9) / 1e9
}

/** The Go duration string of `seconds`: 5400 is `1h30m`. */
export function formatDuration(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1e9) / 1e6}ms`
  const parts: string[] = []
  let rest = seconds
  for (const [unit, size] of [
    ['h', 3600],
    ['m', 60],
  ] as const) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)}${unit}`)
    rest = Math.round((rest % size) * 1e9) / 1e9
  }
  if (rest > 0 || parts.length === 0) parts.push(`${rest}s`)
  return parts.join('')
}

/** `2026-03-01T10:00:00Z` of epoch seconds. */
export const rfc3339 = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

type TimeName = 'at' | 'since' | `${string}_at` | `${string}_since` | `${string}_until`
type Dated<R> = {
  [K in keyof R]: K extends TimeName ? (undefined extends R[K] ? string | undefined : string) : R[K]
}
/** A record for an answer: its times, such as `created_at`, are texts, and members without a value are left out. */
export const dated = <R extends object>(record: R): Dated<R> =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'number' && TIME_NAME.test(name) ? rfc3339(value) : value]],
    ),
  ) as Dated<R>
const TIME_NAME = /^(at|since)$|_(at|since|until)$/

/** Epoch seconds of an RFC 3339 time. Undefined when it is invalid. */
export function parseTime(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(text)) return undefined
  const ms = Date.parse(text)
  const date = text.slice(0, 10)
  // Date.parse reads 30 February as 2 March.
  return Number.isNaN(ms) || new Date(date).toISOString().slice(0, 10) !== date ? undefined : ms / 1000
}
