// Which addresses this service may connect to: all except those in the special-purpose registries (RFC 6890).
import ipaddr from 'ipaddr.js'

/** Addresses of a development setup: this machine, its containers and its LAN (RFC 1918, RFC 4193). */
const PRIVATE = new Set(['loopback', 'private', 'uniqueLocal'])

/** Metadata services of cloud platforms (Azure, AWS, Google, Alibaba, Oracle) outside the link-local range. */
const METADATA = new Set(['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254', '100.100.100.200', '192.0.0.192'])

/** All addresses that are assigned to hosts on the Internet so far. This excludes ::/96 (IPv4-compatible IPv6 addresses), too. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * `private`: loopback and private networks. `shared`: the range of carriers and of some clouds (RFC 6598). `metadata`: metadata services
 * and link-local addresses. `reserved`: all other addresses that no host on the Internet has.
 */
type AddressKind = 'public' | 'private' | 'shared' | 'metadata' | 'reserved'

/** True for the text of an IPv4 or IPv6 address, without brackets. */
export const isAddress = (text: string): boolean => ipaddr.isValid(text)

/** The kind of an address. A text that is not an address counts as reserved. */
export function addressKind(text: string): AddressKind {
  if (!isAddress(text)) return 'reserved'
  const address = ipaddr.parse(text)
  const range = address.range()
  if (METADATA.has(address.toString()) || range === 'linkLocal') return 'metadata'
  if (PRIVATE.has(range)) return 'private'
  if (range === 'carrierGradeNat') return 'shared'
  const isGlobal = range === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST))
  return isGlobal ? 'public' : 'reserved'
}
