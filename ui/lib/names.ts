// The names of ids, so that people read names. A bounded number is kept for a short time: records are renamed.
import { get } from './api.ts'
import type { NamesAnswer } from './types.ts'

type Names = NamesAnswer['names']
const MOST = 500
const KEPT_MS = 10_000
/** Ids of one request, and the longest id that is asked for: addresses have a limit. */
const [AT_ONCE, LONGEST] = [60, 100]
const known = new Map<string, { name: Names[string] | undefined; askedAt: number }>()

/** Learns the names of ids. A name that cannot be read is left out: the id is shown. */
export async function learnNames(ids: readonly (string | undefined)[]): Promise<void> {
  const now = Date.now()
  const isKept = (id: string) => now - (known.get(id)?.askedAt ?? 0) < KEPT_MS
  const asked = [...new Set(ids)].filter(
    (id): id is string => !!id && !id.includes(',') && id.length <= LONGEST && !isKept(id),
  )
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    const part = asked.slice(from, from + AT_ONCE)
    const names = await get<NamesAnswer>('/admin/names', { ids: part.join(',') }).then(
      (answer) => answer.names,
      () => undefined,
    )
    for (const id of part) {
      // What cannot be read now has the name that it had.
      const name = names ? names[id] : known.get(id)?.name
      // Behind all others: the first of the map go.
      known.delete(id)
      known.set(id, { name, askedAt: now })
    }
  }
  for (const id of known.keys()) if (known.size > MOST) known.delete(id)
}

/** The learned name of an id. */
export const learnedName = (id: string): Names[string] | undefined => known.get(id)?.name
