// The rules of one part of the service for the addresses of its outgoing requests, and the error that names the key to change.
import type { Config } from '../config/schema.ts'
import { type HostRules, hostRules } from '../lib/host_rule.ts'
import { lookUpName } from '../lib/system_names.ts'
import { withTimeout } from '../lib/timeout.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { addressKind, isAddress } from './address.ts'
import { FetchError } from './error.ts'

/** Parts with a key `allow_hosts`. */
export type OutboundPart = 'ciba' | 'cimd' | 'connect' | 'events' | 'oidc' | 'xaa'

export interface AddressRules {
  /** Whether loopback and private addresses are allowed: cimd.allow_private_addresses. */
  readonly allowPrivate: boolean
  /** Hosts in private networks that are allowed, and the key of this list. */
  readonly hosts?: HostRules & { readonly key: string }
}

/** The rules for the requests of a part. */
export const addressRules = (config: Config, part: OutboundPart): AddressRules => ({
  allowPrivate: config.cimd.allow_private_addresses,
  hosts: { ...hostRules(config[part].allow_hosts), key: `${part}.allow_hosts` },
})

/** The error for the first of the addresses of a host that must not be connected to. Undefined when all are allowed. */
export function addressFault(
  { hostname, host }: URL,
  addresses: readonly string[],
  rules: AddressRules,
): FetchError | undefined {
  const refused = addresses.find((each) => !isAllowed(hostname, each, rules))
  if (refused === undefined) return undefined
  const { detail, canBeListed } = explain(hostname, refused, rules)
  return new FetchError('blocked_address', host, detail, canBeListed ? rules.hosts?.key : undefined)
}

/** The same for a URL whose host is an address or localhost. Undefined for other names. */
export function literalFault(url: URL, rules: AddressRules): FetchError | undefined {
  const addresses = addressesIn(url)
  return addresses && addressFault(url, addresses, rules)
}

/** Maximum milliseconds for the resolution of a name for a warning to an operator. */
const LOOK_MS = 1000

/** The same for every URL. Undefined for a host whose name is not resolved within a second: its addresses are checked when a request is sent. */
export async function resolvedFault(text: string, rules: AddressRules): Promise<FetchError | undefined> {
  const url = parseHttpUrl(text)
  if (!url) return undefined
  if (addressesIn(url)) return literalFault(url, rules)
  let found: string[] = []
  const look = lookUpName(url.hostname).then(
    (addresses) => {
      found = addresses
    },
    () => {},
  )
  await withTimeout(LOOK_MS, look)
  return addressFault(url, found, rules)
}

/** Resolved without a query (RFC 6761 §6.3). The addresses are checked as all others are. */
const LOOPBACK = ['127.0.0.1', '::1']
const LOCALHOST = /(^|\.)localhost\.?$/

/** The addresses of localhost and of its subdomains. Undefined for other names. */
export const localhostAddresses = (hostname: string): string[] | undefined =>
  LOCALHOST.test(hostname) ? LOOPBACK : undefined

/** The address in a URL, without brackets. Undefined if its host is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const literal = hostname.replace(/^\[|\]$/g, '')
  return isAddress(literal) ? literal : undefined
}

function addressesIn(url: URL): string[] | undefined {
  const literal = literalAddress(url)
  return literal === undefined ? localhostAddresses(url.hostname) : [literal]
}

function isAllowed(hostname: string, address: string, { allowPrivate, hosts }: AddressRules): boolean {
  const kind = addressKind(address)
  if (kind === 'public') return true
  if (kind === 'metadata') return hosts?.allowsExactly(address) ?? false
  if (kind === 'private' && allowPrivate) return true
  return kind !== 'reserved' && (hosts?.allows(hostname, address) ?? false)
}

/** What an operator can do about a refused address. */
function explain(hostname: string, address: string, { hosts }: AddressRules) {
  const kind = addressKind(address)
  if (kind === 'reserved') return { detail: `${address} is not the address of a host`, canBeListed: false }
  if (!hosts) return { detail: `${address} is not public`, canBeListed: false }
  const rule = kind === 'metadata' ? address : hostname
  return { detail: `${address} is not public; ${hosts.key} does not list ${rule}`, canBeListed: true }
}
