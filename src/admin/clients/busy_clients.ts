// The clients of the last five minutes, by the number of their requests: who floods, and what is refused.
import type { App } from '../../context.ts'
import type { Client } from '../../records/client.ts'
import { addCounts, type ClientActivity, lastMinutes, type RequestCounts } from '../../telemetry/client_activity.ts'

export interface BusyClient extends RequestCounts {
  client: Client
  /** The reason of the last refusal at the address that had most of them. */
  reason: string | undefined
}

/** Of the busiest ids that callers sent, this many are looked up: most may be invented. */
const MOST_IDS = 500

/**
 * The registered clients with activity in the last five minutes, the busiest first by `order`. Ids that no client has are left out.
 * Rejects when the store is unavailable.
 */
export async function busyClients(
  { store, clock }: Pick<App, 'store' | 'clock'>,
  activity: readonly ClientActivity[],
  order: 'requests' | 'refused' = 'requests',
): Promise<BusyClient[]> {
  const sums = sumsOf(activity, clock.now())
  const ids = [...sums].sort(([, a], [, b]) => b[order] - a[order]).slice(0, MOST_IDS)
  const found: BusyClient[] = []
  for (const [client_id, { worst: _, ...sum }] of ids) {
    const client = await store.findClient({ client_id })
    if (client) found.push({ client, ...sum })
  }
  return found
}

type Sum = RequestCounts & { worst: number; reason: string | undefined }

function sumsOf(activity: readonly ClientActivity[], now: number): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const trail of activity) {
    const counts = lastMinutes(trail, now)
    if (!trail.client_id || counts.requests === 0) continue
    const empty = { requests: 0, refused: 0, limited: 0, issued: 0, worst: 0, reason: undefined }
    const sum = sums.get(trail.client_id) ?? empty
    sums.set(trail.client_id, sum)
    if (counts.refused > sum.worst) {
      sum.worst = counts.refused
      sum.reason = trail.steps.findLast(({ error }) => error)?.reason
    }
    addCounts(sum, counts)
  }
  return sums
}
