// Resolution of untrusted host names, such as those of client documents. c-ares queries the name servers; it occupies no thread and can be
// cancelled. The resolver of the system is used only for configured names (lib/system_names.ts). Search domains are not applied, so
// that an untrusted short name cannot resolve to an internal host.
import dns from 'node:dns'
import { readFile } from 'node:fs/promises'
import type { LookUp } from '../lib/system_names.ts'
import { localhostAddresses } from './address_rules.ts'
import { Semaphore } from './semaphore.ts'

const MAX_LOOKUPS = 64
/** c-ares doubles the first timeout in each further round. */
const TRY_MS = 1000
const TRIES = 3
const DEADLINE_MS = 5000

interface PublicNamesOptions {
  /** Whether a name is looked up in /etc/hosts, too. */
  readsHosts(hostname: string): boolean
  /** Timeout of a lookup in milliseconds. */
  deadlineMs?: number
}

/** Creates a lookup for untrusted names. */
export function createPublicNames({ readsHosts, deadlineMs = DEADLINE_MS }: PublicNamesOptions): LookUp {
  const gate = new Semaphore(MAX_LOOKUPS)
  const running = new Map<string, Promise<string[]>>()

  async function find(hostname: string): Promise<string[]> {
    const known = readsHosts(hostname)
      ? addressesIn(await readFile('/etc/hosts', 'utf8').catch(() => ''), hostname)
      : []
    return known.length > 0 ? known : gate.run(() => query(hostname, deadlineMs))
  }

  return (hostname) => {
    const local = localhostAddresses(hostname)
    if (local) return Promise.resolve(local)
    const lookUp = running.get(hostname) ?? find(hostname).finally(() => running.delete(hostname))
    running.set(hostname, lookUp)
    return lookUp
  }
}

/** Queries IPv4 and IPv6 addresses. One kind is enough if the other one fails or is not answered in time. */
async function query(hostname: string, deadlineMs: number): Promise<string[]> {
  // A new resolver can be cancelled individually, and reads the current /etc/resolv.conf.
  const resolver = new dns.promises.Resolver({ timeout: TRY_MS, tries: TRIES })
  const timer = setTimeout(() => resolver.cancel(), deadlineMs)
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = [v4, v6].flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
    return addresses
  } finally {
    clearTimeout(timer)
  }
}

/** The addresses of a name in the text of a hosts file. */
function addressesIn(hosts: string, hostname: string): string[] {
  const wanted = hostname.replace(/\.$/, '')
  return hosts.split('\n').flatMap((line) => {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return address && names.some((name) => name.toLowerCase() === wanted) ? [address] : []
  })
}
