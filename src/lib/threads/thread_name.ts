// Names of threads for top -H, perf and the benchmark.
import { writeFileSync } from 'node:fs'

/** Sets the name of the calling thread, at most 15 characters. Only Linux has such names; elsewhere this does nothing. */
export function nameThread(name: string): void {
  try {
    writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // Nothing depends on the name, so errors are ignored.
  }
}
