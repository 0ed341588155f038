// A broker provider: from how it is written to the one that is stored.
import type { ProviderRecord } from '../config/provider_record.ts'
import { newId } from '../lib/id.ts'
import type { BrokerProvider } from '../oauth/types.ts'

/** A provider that is new at `now`. */
export const newProvider = (written: ProviderRecord, now: number): BrokerProvider => ({
  ...written,
  id: `bp_${newId()}`,
  version: 1,
  created_at: now,
  updated_at: now,
})
