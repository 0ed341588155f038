// The keys of what clients poll for: devices (RFC 8628) and approvals (CIBA).
import { boolKey, durationKey, HOSTS_FORM, hostsKey } from './key.ts'

export const polledKeys = {
  device: {
    enabled: boolKey({ default: false }).describe(
      'Offer the device authorization grant (RFC 8628): a program without a browser shows a code, and the user enters it at /device. Off by default, because attackers send such codes to users (phishing).',
    ),
    code_expiry: durationKey({ default: '10m', max: 3600 }).describe('Lifetime of a device code and its user code.'),
    interval: durationKey({ default: '5s', max: 60 }).describe(
      'Time that a device must wait between two token requests, in whole seconds. Each earlier request is refused with slow_down and adds 5 seconds.',
    ),
  },
  ciba: {
    enabled: boolKey({ default: false }).describe(
      'Offer approvals (CIBA): a client without a browser names a person, who decides at /account/requests. Only operators give a client the grant urn:openid:params:grant-type:ciba.',
    ),
    expiry: durationKey({ default: '5m', min: 10, max: 24 * 3600 }).describe(
      'How long a person may decide about an approval. A request may ask for another time with requested_expiry.',
    ),
    interval: durationKey({ default: '5s', max: 60 }).describe(
      'Time that a client must wait between two token requests for an approval, in whole seconds. Each earlier request is refused with slow_down and adds 5 seconds.',
    ),
    allow_hosts: hostsKey().describe(
      `Hosts in private networks that may be notified of a decision (ping). Without a host here an endpoint is https and public. ${HOSTS_FORM}`,
    ),
  },
} as const
