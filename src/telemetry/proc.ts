// CPU time, memory and I/O of processes and of the machine, from /proc. Linux only: on other systems every value is NaN.
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Threads by their work: `front` parses and decides, the others sign, store and hash; `other` is the rest (GC, I/O). */
export const ROLES = ['front', 'crypto', 'store', 'password', 'other'] as const
export type Role = (typeof ROLES)[number]
export type ByRole = Record<Role, number>

const roleNamed = (name: string): Role => ROLES.find((role) => role === name) ?? 'other'

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

export interface ThreadTimes {
  role: Role
  /** CPU time in microseconds since the start of the thread. */
  us: number
  /** Time in which the thread was ready to run and waited for a processor. */
  waited_us: number
}

/** Times of each thread of a process, by thread id. The main thread has the role `front`, unless the process has front threads. */
export function threadMicros(pid: number): Map<number, ThreadTimes> {
  const threads = new Map<number, ThreadTimes>()
  for (const tid of list(`/proc/${pid}/task`)) {
    // Nanoseconds on a processor, and waiting for one.
    const [ns = Number.NaN, waited = 0] = (read(`/proc/${pid}/task/${tid}/schedstat`) ?? '').split(' ').map(Number)
    const name = read(`/proc/${pid}/task/${tid}/comm`)?.trim() ?? ''
    const role = tid === pid ? 'other' : roleNamed(name)
    if (Number.isFinite(ns)) threads.set(tid, { role, us: ns / 1000, waited_us: waited / 1000 })
  }
  const main = threads.get(pid)
  if (main && ![...threads.values()].some(({ role }) => role === 'front')) main.role = 'front'
  return threads
}

/** CPU microseconds of a process since its start, over all threads that still run. */
export const processMicros = (pid: number): number =>
  [...threadMicros(pid).values()].reduce((sum, { us }) => sum + us, 0)

function list(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number)
  } catch {
    return []
  }
}

/** Bytes that a process has written to storage. */
export const bytesWrittenBy = (pid: number): number =>
  Number(/^write_bytes: (\d+)/m.exec(read(`/proc/${pid}/io`) ?? '')?.[1] ?? Number.NaN)

/** Resident memory of a process in MiB: now, and the peak. */
export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = read(`/proc/${pid}/status`) ?? ''
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024
  return { now: of('VmRSS'), peak: of('VmHWM') }
}

export const CORES = cpus().length

const MICROS_PER_TICK = 10_000
const [IDLE, IO_WAIT] = [3, 4]
/** Idle microseconds of all processors since the machine was started, from the text of /proc/stat. NaN without it. */
export function restMicros(stat: string): number {
  const ticks = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').map(Number) ?? []
  return ((ticks[IDLE] ?? Number.NaN) + (ticks[IO_WAIT] ?? Number.NaN)) * MICROS_PER_TICK
}

/**
 * Busy microseconds of all processors, from an arbitrary origin. They are computed from the idle time, which the kernel measures in
 * nanoseconds. The busy time of /proc/stat is sampled at each tick (10 ms), and misses the short bursts that servers have.
 */
export const machineMicros = (): number => performance.now() * 1000 * CORES - restMicros(read('/proc/stat') ?? '')

const [CHILDREN_USER, CHILDREN_SYSTEM] = [13, 14]
/** CPU microseconds of the children of this process that have ended, in steps of 10 ms. */
export function endedChildrenMicros(): number {
  const stat = read('/proc/self/stat') ?? ''
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) * MICROS_PER_TICK
}
