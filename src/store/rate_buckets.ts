// Operations on the buckets of addresses and hosts, which all instances share.
import { change, num, type Op, one } from './op.ts'

const SECOND = 1_000_000
/**
 * How far the clocks of two instances may be apart, as each goes by its own. At the one that is behind, a bucket that the other one took
 * from fills so much later: a key waits there a second longer if the difference is a second. At the one that is ahead it is fuller by
 * what comes in during the difference, and together they allow that much more. What is beyond this was written by a clock that was
 * wrong, and counts as full: it must not keep anybody out until then.
 */
const SKEW = 10 * SECOND
/** How long a full bucket is kept: longer than clocks are apart, as another instance may not find it full yet. */
const KEPT = 60 * SECOND

/** Times in microseconds. */
export interface BucketTake {
  name: string
  /** Epoch microseconds. */
  now: number
  /** The time in which one more comes in. */
  each: number
  /** The time in which an empty bucket is full. */
  most: number
}

/** Takes one out of a bucket (GCRA, as SharedBucket does it). Returns 0, or the microseconds until the next one is there. */
export function* takeFromBucket({ name, now, each, most }: BucketTake): Op<number> {
  const wrong = now + most + SKEW
  const taken = yield* change(
    `INSERT INTO rate_buckets (name, full_at) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET full_at =
       CASE WHEN rate_buckets.full_at > ? AND rate_buckets.full_at <= ? THEN rate_buckets.full_at ELSE ? END + ?
     WHERE rate_buckets.full_at <= ? OR rate_buckets.full_at > ?`,
    name,
    now + each,
    now,
    wrong,
    now,
    each,
    now + most - each,
    wrong,
  )
  if (taken > 0) return 0
  const row = yield* one('SELECT full_at FROM rate_buckets WHERE name = ?', name)
  return Math.max(1, (row ? num(row.full_at) : now) + each - most - now)
}

/** Deletes the buckets that have been full for a while. Alone in its transaction, so that nobody who takes waits for two. Returns how many. */
export function* sweepBuckets({ now }: { now: number }): Op<number> {
  return yield* change('DELETE FROM rate_buckets WHERE full_at <= ?', now - KEPT)
}
