// Progress of a run on the terminal: one line per event, with the time since the start.

import { digits } from '../report/figures.ts'
import type { Sample } from './sample.ts'

export interface Progress {
  say(text: string): void
  measured(what: string, sample: Sample): void
}

/** Writes progress to `write`, line by line. */
export function openProgress(write: (line: string) => void): Progress {
  const startedMs = performance.now()
  const say = (text: string) => {
    const seconds = Math.floor((performance.now() - startedMs) / 1000)
    write(`[${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}] ${text}\n`)
  }
  return {
    say,
    measured(what, { per_s, latency_ms, cpu_us, errors, first_error, bottleneck }) {
      const parts = [
        `${Math.round(per_s)}/s`,
        `p99 ${digits(latency_ms.p99, 1)} ms`,
        `${digits(cpu_us.total, 0)} us CPU`,
        errors > 0 ? `${errors} errors (${first_error ?? 'unknown'})` : bottleneck,
      ]
      say(`${what}: ${parts.join(', ')}`)
    },
  }
}
