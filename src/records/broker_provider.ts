/** An upstream provider for broker resources. */
export interface BrokerProvider {
  id: string
  slug: string
  display_name: string
  protocol: 'oauth' | 'apikey' | 'service_account'
  /** As configured; its members depend on the protocol (config/provider_record.ts). */
  config_data: Record<string, unknown>
  version: number
  created_at: number
  updated_at: number
}
