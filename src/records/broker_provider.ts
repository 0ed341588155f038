/** Where upstream tokens are had from. */
export interface BrokerProvider {
  id: string
  slug: string
  display_name: string
  protocol: 'oauth' | 'apikey' | 'service_account'
  /** As it was written; the protocol says what is in it (config/provider_record.ts). */
  config_data: Record<string, unknown>
  version: number
  created_at: number
  updated_at: number
}
