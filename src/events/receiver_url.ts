// The URLs to which events and notifications may be sent: https on the Internet, and the hosts of the key `allow_hosts`. Every request checks
// the addresses of the host again.
import type { Config } from '../config/schema.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { type AddressRules, addressRules, literalFault } from '../net/address_rules.ts'

/** Parts that send to receivers. */
type SendingPart = 'events' | 'ciba'

/** How receivers are called. Only the beginning of an answer is read: a longer one is an error, so that no receiver can fill the memory. */
export const TO_RECEIVER = { method: 'POST', maxBytes: 64 * 1024, timeoutMs: 10_000, allowHttp: true } as const

/** The rules for the addresses of receivers. Only the key `allow_hosts` of the part opens private networks. */
export const receiverRules = (config: Config, part: SendingPart): AddressRules => ({
  ...addressRules(config, part),
  allowPrivate: false,
})

/** Throws invalid_request for a URL to which a part can send nothing. */
export function checkReceiverUrl(config: Config, text: string, part: SendingPart = 'events'): void {
  const rules = receiverRules(config, part)
  const url = parseHttpUrl(text)
  const fault = (reason: Reason, description: string) => new OAuthError('invalid_request', description, { reason })
  if (!url) throw fault('bad_receiver_url', 'the URL must be a well-formed https URL')
  const blocked = literalFault(url, rules)
  if (blocked)
    throw fault('blocked_receiver_url', `the URL has a private address: ${blocked.detail ?? blocked.message}`)
  if (url.protocol !== 'https:' && !rules.hosts?.names(url.hostname))
    throw fault('insecure_receiver_url', `the URL must use https, unless ${part}.allow_hosts has its host`)
}
