// Which addresses this service may connect to: all except those in the special-purpose registries (RFC 6890).
import ipaddr from 'ipaddr.js'

/** Addresses of a development setup: this machine, its containers and its LAN (RFC 1918, RFC 4193). */
const PRIVATE = new Set(['loopback', 'private', 'uniqueLocal'])

/** Metadata services of cloud platforms (Azure, AWS, Google) that would pass as public or as private addresses. */
const METADATA = new Set(['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'])

/** All addresses that are assigned to hosts on the Internet so far. This excludes ::/96 (IPv4-compatible IPv6 addresses), too. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** True for the text of an IPv4 or IPv6 address, without brackets. */
export const isAddress = (text: string): boolean => ipaddr.isValid(text)

/** True for an address of a host on the Internet; with `allowPrivate` also for loopback and private ones. */
export function isAllowedAddress(text: string, allowPrivate: boolean): boolean {
  if (!isAddress(text)) return false
  const address = ipaddr.parse(text)
  if (METADATA.has(address.toString())) return false
  const range = address.range()
  if (PRIVATE.has(range)) return allowPrivate
  return range === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST))
}
