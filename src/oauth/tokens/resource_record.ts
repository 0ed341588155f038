// From a resource as it is written (configuration, admin API) to the one that is stored, and back.
import type { ResourceRecord } from '../../config/records.ts'
import { newId } from '../../lib/id.ts'
import type { Resource } from '../../records/resource.ts'

/** The stored fields of a written resource; a provider is named by its slug. Mint resources have no connect flow. */
export function resourceFieldsOf(
  written: ResourceRecord,
): Omit<Resource, 'id' | 'version' | 'created_at' | 'updated_at'> {
  const { policy, display_name = written.slug, broker_provider_id, ...fields } = written
  const { exchange, runtime, connect } = policy ?? {}
  return {
    ...fields,
    display_name,
    policy: {
      exchange: { allowed_client_ids: exchange?.allowed_client_ids ?? [] },
      runtime: { client_ids: runtime?.client_ids ?? [] },
      connect: { allowed_return_urls: fields.backend_kind === 'broker' ? (connect?.allowed_return_urls ?? []) : [] },
    },
  }
}

/** A resource that is new at `now`. */
export const newResource = (written: ResourceRecord, now: number): Resource => ({
  ...resourceFieldsOf(written),
  id: `r_${newId()}`,
  version: 1,
  created_at: now,
  updated_at: now,
})
