// Names of threads for whoever looks from outside: top -H, perf, the benchmark.
import { writeFileSync } from 'node:fs'

/** Gives the calling thread a name of at most 15 characters, where the system has such names (Linux); elsewhere it does nothing. */
export function nameThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // Only for people: nothing depends on it.
  }
}
