// Ranges of addresses, as in server.trusted_proxies.
import { isIP } from 'node:net'

export interface Range {
  address: string
  bits: number
  family: 'ipv4' | 'ipv6'
}

/** An address (`10.1.2.3`) or a range in CIDR form (`10.0.0.0/8`, `fd00::/8`). Undefined for anything else. */
export function parseRange(text: string): Range | undefined {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return undefined
  const most = version === 4 ? 32 : 128
  const bits = prefix === undefined ? most : Number(prefix)
  return bits > most ? undefined : { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}
