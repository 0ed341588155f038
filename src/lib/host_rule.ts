// Hosts in private networks that outgoing requests may reach, as in connect.allow_hosts: host names, addresses and CIDR ranges.
import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { parseRange } from './range.ts'

/** A list of hosts in private networks. */
export type HostRules = ReturnType<typeof readRules>

const LABEL = '[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?'
const NAME = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`)
/** A last label of digits, which URL parsers read as a part of an IPv4 address. */
const NUMERIC = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/

/** A rule in its normal form: a name in lower case, or an address or range. Undefined for any other text. */
export function hostRule(text: string): string | undefined {
  if (parseRange(text)) return text
  // domainToASCII() drops a path.
  const [, wildcard = '', rest = ''] = /^(\*\.)?([^/?#\\]*)$/.exec(text) ?? []
  const name = wildcard + domainToASCII(rest.replace(/\.$/, ''))
  return NAME.test(name) && !NUMERIC.test(name) ? name : undefined
}

const known = new WeakMap<readonly string[], HostRules>()

/** The rules of a list in their normal form. A list is read once. */
export function hostRules(rules: readonly string[]): HostRules {
  const found = known.get(rules) ?? readRules(rules)
  known.set(rules, found)
  return found
}

function readRules(rules: readonly string[]) {
  const [ranges, single] = [new BlockList(), new BlockList()]
  const names = new Set(rules)
  for (const range of rules.map(parseRange)) {
    if (!range) continue
    ranges.addSubnet(range.address, range.bits, range.family)
    if (range.bits === (range.family === 'ipv4' ? 32 : 128)) single.addAddress(range.address, range.family)
  }
  const contains = (list: BlockList, address: string): boolean => {
    const version = isIP(address)
    return version !== 0 && !address.includes('%') && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
  // A wildcard stands for one label, as in a TLS certificate (RFC 6125 §6.4.3).
  const hasName = (name: string) => names.has(name) || names.has(name.replace(/^[^.]+/, '*'))
  const bare = (hostname: string) => hostname.replace(/^\[|\]$|\.$/g, '')
  return {
    /** Whether a rule has the host name, or contains the address. */
    allows: (hostname: string, address: string): boolean => contains(ranges, address) || hasName(bare(hostname)),
    /** Whether a rule is this address alone. Names and ranges do not count. */
    allowsExactly: (address: string): boolean => contains(single, address),
    /** Whether a rule has the host of a URL: its name, or the address that it is. */
    names: (hostname: string): boolean => contains(ranges, bare(hostname)) || hasName(bare(hostname)),
  }
}
