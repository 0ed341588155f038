// What a process has used so far, and what a load run saw. Linux only: elsewhere the figures of processes are NaN.
import { readFileSync } from 'node:fs'

/** One run of a load generator. */
export interface LoadResult {
  /** Answers with the expected status. */
  successes: number
  /** Everything else: other statuses, broken connections, timeouts. */
  errors: number
  /** What the first error was, where the generator can tell. */
  firstError?: string
  seconds: number
  p50Ms: number
  p99Ms: number
  /** CPU time that the server used meanwhile, microseconds over all its threads. */
  cpuMicros: number
}

// Linux reports CPU times in hundredths of a second to every program, whatever the kernel's own tick is.
const MICROS_PER_TICK = 10_000
const [UTIME, STIME] = [11, 12]

/** CPU time (user and system, all threads) of a process since its start, in microseconds, in steps of 10 ms. */
export function cpuMicros(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[UTIME]) + Number(fields[STIME])) * MICROS_PER_TICK
  } catch {
    return Number.NaN
  }
}

/** Resident memory of a process in MiB. */
export function residentMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** The value that a share `q` of the sorted numbers does not exceed (nearest rank). */
const percentile = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN

/** p50 and p99 of latencies in milliseconds: every one is kept and sorted, nothing is bucketed. */
export function percentiles(latencies: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = Float64Array.from(latencies).sort()
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}

/** The middle of some numbers; of an even count the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}
