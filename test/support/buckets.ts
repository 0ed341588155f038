// Shared buckets that no other instance takes from.
import type { BucketStore } from '../../src/http/shared_buckets.ts'

export const aloneWithBuckets: BucketStore = {
  takeFromBucket: async () => 0,
  returnToBucket: async () => {},
  sweepBuckets: async () => 0,
}
