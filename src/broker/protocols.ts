// The list of protocols. Every difference between them is in their own files.
import type { BrokerProvider } from '../records/broker_provider.ts'
import { apikey } from './apikey.ts'
import { oauth } from './oauth.ts'
import type { Protocol } from './protocol.ts'
import { serviceAccount } from './service_account.ts'

const PROTOCOLS: readonly Protocol[] = [oauth, apikey, serviceAccount]

/** The protocol of a provider. */
export function protocolOf({ protocol }: BrokerProvider): Protocol {
  const found = PROTOCOLS.find(({ name }) => name === protocol)
  if (!found) throw new Error(`there is no protocol ${protocol}`)
  return found
}
