// The URLs to which events may be sent: https on the Internet, and the hosts of events.allow_hosts. Every request checks the addresses of
// the host again.
import type { Config } from '../config/schema.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { type AddressRules, addressRules, literalFault } from '../net/address_rules.ts'

/** The rules for the addresses of receivers. Only events.allow_hosts opens private networks. */
export const receiverRules = (config: Config): AddressRules => ({
  ...addressRules(config, 'events'),
  allowPrivate: false,
})

/** Throws invalid_request for a URL to which no event can be sent. */
export function checkReceiverUrl(config: Config, text: string): void {
  const rules = receiverRules(config)
  const url = parseHttpUrl(text)
  const fault = (reason: Reason, description: string) => new OAuthError('invalid_request', description, { reason })
  if (!url) throw fault('bad_receiver_url', 'the URL must be a well-formed https URL')
  const blocked = literalFault(url, rules)
  if (blocked)
    throw fault('blocked_receiver_url', `the URL has a private address: ${blocked.detail ?? blocked.message}`)
  if (url.protocol !== 'https:' && !rules.hosts?.names(url.hostname))
    throw fault('insecure_receiver_url', 'the URL must use https, unless events.allow_hosts has its host')
}
