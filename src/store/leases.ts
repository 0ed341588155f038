// Operations on leases: work that one instance at a time does.
import { change, type Op } from './op.ts'

export interface Lease {
  name: string
  /** Id of the process that takes or renews the lease. */
  holder: string
  now: number
  /** Until then no other holder can take the lease. */
  until: number
}

/** Takes a lease that is free, or renews one that the holder has. False when another holder has it. */
export function* takeLease({ name, holder, now, until }: Lease): Op<boolean> {
  const taken = yield* change(
    `INSERT INTO leases (name, holder, held_until) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
     WHERE leases.holder = excluded.holder OR leases.held_until <= ?`,
    name,
    holder,
    until,
    now,
  )
  return taken > 0
}
