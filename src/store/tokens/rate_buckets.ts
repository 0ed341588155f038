// Operations on the rate-limit buckets of addresses and hosts, which all instances share.
import { change, num, type Op, one } from '../op.ts'

const SECOND = 1_000_000
/**
 * Maximum difference between the clocks of two instances; each instance uses its own clock. At the instance whose clock is slow, a bucket
 * that the other one took from is refilled later by the difference: a key waits a second longer if the difference is a second. At the
 * instance whose clock is fast the bucket is fuller by the refill of that time, and together they allow that much more. A time beyond this
 * bound was written by a wrong clock. Such a bucket counts as full, so that the key is not refused until that time.
 */
const SKEW = 10 * SECOND
/** How long a full bucket is kept: longer than the clock difference, because it may not be full yet for another instance. */
const KEPT = 60 * SECOND

/** Times in microseconds. */
export interface BucketTake {
  name: string
  /** Epoch microseconds. */
  now: number
  /** The time in which one unit is refilled. */
  each: number
  /** The time in which an empty bucket is refilled. */
  most: number
}

/** Takes one unit from a bucket (GCRA, as SharedBucket does). Returns 0, or the microseconds until the next unit is available. */
export function* takeFromBucket({ name, now, each, most }: BucketTake): Op<number> {
  const wrong = now + most + SKEW
  const taken = yield* change`INSERT INTO rate_buckets (name, full_at) VALUES (${name}, ${now + each})
   ON CONFLICT (name) DO UPDATE SET full_at =
     CASE WHEN rate_buckets.full_at > ${now} AND rate_buckets.full_at <= ${wrong} THEN rate_buckets.full_at ELSE ${now} END + ${each}
   WHERE rate_buckets.full_at <= ${now + most - each} OR rate_buckets.full_at > ${wrong}`
  if (taken > 0) return 0
  const row = yield* one`SELECT full_at FROM rate_buckets WHERE name = ${name}`
  return Math.max(1, (row ? num(row.full_at) : now) + each - most - now)
}

/** Returns one unit that was taken from a bucket. */
export function* returnToBucket({ name, each }: Pick<BucketTake, 'name' | 'each'>): Op<void> {
  yield* change`UPDATE rate_buckets SET full_at = full_at - ${each} WHERE name = ${name}`
}

/** Deletes buckets that have been full for a while. It runs in its own transaction, so that a concurrent take waits for one row lock at most. Returns their number. */
export function* sweepBuckets({ now }: { now: number }): Op<number> {
  return yield* change`DELETE FROM rate_buckets WHERE full_at <= ${now - KEPT}`
}
