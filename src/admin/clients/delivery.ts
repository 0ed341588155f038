// How a client learns that its approval (CIBA) is decided: members that only operators set.
import type { z } from 'zod'
import type { Config } from '../../config/schema.ts'
import { checkReceiverUrl } from '../../events/receiver_url.ts'
import { OAuthError } from '../../lib/error.ts'
import { text } from '../../lib/field.ts'
import { refuseMetadata } from '../../oauth/clients/client_metadata.ts'
import type { Client } from '../../records/client.ts'
import { DELIVERY_MODES, type RareMembers } from '../../records/rare_members.ts'

/** The schema accepts any word, because checkDelivery() reports a faulty one as invalid_client_metadata. */
const mode = text(40) as unknown as z.ZodType<(typeof DELIVERY_MODES)[number]>

/** The members. */
export const deliveryFields = {
  backchannel_token_delivery_mode: mode.describe(
    'How the client learns that an approval (CIBA) is decided. poll (default): it asks the token endpoint. ping: it is also notified.',
  ),
  backchannel_client_notification_endpoint: text(2048).describe(
    'URL that is notified when an approval is decided, with ping. https, unless `ciba.allow_hosts` has the host.',
  ),
}

type Delivery = Pick<Client, 'backchannel_token_delivery_mode' | 'backchannel_client_notification_endpoint'>

/** Checks the members. An endpoint that it had `before` stays allowed. Throws invalid_client_metadata. */
export function checkDelivery(config: Config, client: Delivery, before?: RareMembers): void {
  const { backchannel_token_delivery_mode: mode = 'poll', backchannel_client_notification_endpoint: url } = client
  const refuse = (member: keyof Delivery, message: string) => refuseMetadata([{ path: member, message }])
  if (!DELIVERY_MODES.includes(mode))
    throw refuse('backchannel_token_delivery_mode', `must be ${DELIVERY_MODES.join(' or ')}`)
  if (mode === 'ping' && url === undefined)
    throw refuse('backchannel_client_notification_endpoint', 'is required for ping')
  if (url === undefined || url === before?.backchannel_client_notification_endpoint) return
  try {
    checkReceiverUrl(config, url, 'ciba')
  } catch (error) {
    if (error instanceof OAuthError) throw refuse('backchannel_client_notification_endpoint', `: ${error.message}`)
    throw error
  }
}
