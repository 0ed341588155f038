// Shared buckets without other instances.
import type { BucketStore } from '../../src/http/shared_buckets.ts'

export const aloneWithBuckets: BucketStore = {
  takeFromBucket: async () => 0,
  returnToBucket: async () => {},
  sweepBuckets: async () => 0,
}
