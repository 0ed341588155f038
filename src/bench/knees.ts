// The knees of a report, for a server that wants to know its ceiling.
import { readReport } from './report.ts'

/** Requests a second that each work of the service kept, with a database and an algorithm. Throws when the file is no report. */
export function kneesOf(file: string, store: string, alg: string): Record<string, number> {
  const { results } = readReport(file)
  return Object.fromEntries(
    results.flatMap((result) =>
      result.server === 'service' && result.store === store && result.alg === alg && result.knee
        ? [[result.work, result.knee.per_s]]
        : [],
    ),
  )
}
