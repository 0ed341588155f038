// The address of a client behind proxies. A forwarded address counts only when the proxy that added it is trusted.
import { BlockList, isIP } from 'node:net'
import { parseRange } from '../lib/range.ts'
import { peerAddress } from './listener.ts'
import type { RequestHead } from './message.ts'

/** Creates the function that returns the client address of a request: the peer, or the address that trusted proxies forwarded. */
export function createAddressReader(trusted: readonly string[]): (head: RequestHead) => string {
  const list = new BlockList()
  for (const range of trusted.map(parseRange)) if (range) list.addSubnet(range.address, range.bits, range.family)
  const isTrusted = (address: string) => list.check(address, address.includes(':') ? 'ipv6' : 'ipv4')

  return ({ remote, headers }) => {
    let address = remote
    // Each proxy appends the address that it received the request from. Entries before the first untrusted address can be forged.
    for (const entry of (headers['x-forwarded-for'] ?? '').split(',').reverse()) {
      const before = isTrusted(address) ? forwardedAddress(entry) : undefined
      if (before === undefined) break
      address = before
    }
    return address
  }
}

/** The address of an X-Forwarded-For entry, which may include a port. */
function forwardedAddress(entry: string): string | undefined {
  const text = entry.trim()
  const [, v6, v4] = /^(?:\[([0-9a-f:.]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/i.exec(text) ?? []
  const address = v6 ?? v4 ?? text
  return isIP(address) === 0 ? undefined : peerAddress(address)
}
