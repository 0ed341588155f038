// Resolution of configured host names by the system: /etc/hosts, search domains, nsswitch.conf. getaddrinfo cannot be cancelled, and
// libuv runs it on half of its pool: two lookups at a time in the whole process, unless UV_THREADPOOL_SIZE is set. A silent name server
// must not let one name block the others. So each name has one lookup at a time, slow names share one of the places, and a known name is
// answered from its last addresses while a lookup takes too long.

import type { LookupAddress } from 'node:dns'
import dns from 'node:dns'
import net, { type LookupFunction } from 'node:net'
import { codeOf } from './error.ts'
import { Lru } from './lru.ts'
import { MB } from './memory.ts'

/** Returns the addresses of a host name. Rejects with an error that has a code. */
export type LookUp = (hostname: string) => Promise<string[]>

interface Name {
  /** The lookup in flight, which all callers for this name share. */
  running?: Promise<string[]>
  last?: { addresses: string[]; atMs: number }
  /** Whether the last lookup, or the one in flight, took longer than SLOW_MS. */
  isSlow: boolean
}

const MAX_NAMES = 1000
/** A name with several addresses. */
const NAME_BYTES = 1024
/** After this time a known name is answered from its last addresses. */
const SLOW_MS = 1000
/** Deadline of the callers. The lookup itself may take longer. */
const DEADLINE_MS = 5000
/** How long the last addresses of a name are used while lookups fail or are slow. */
const STALE_MS = 3_600_000

/** Creates a lookup by `resolve` with the rules above. Callers wait at most `deadlineMs` for an unknown name. */
export function createSystemNames(resolve: LookUp, deadlineMs = DEADLINE_MS): LookUp {
  const names = new Lru<Name>({ max: MAX_NAMES, bytes: MB, sizeOf: () => NAME_BYTES })
  let slowLine: Promise<unknown> = Promise.resolve()

  async function ask(hostname: string, name: Name): Promise<string[]> {
    let isSlow = false
    const timer = setTimeout(() => {
      isSlow = true
      name.isSlow = true
    }, SLOW_MS)
    try {
      const addresses = await resolve(hostname)
      name.last = { addresses, atMs: performance.now() }
      return addresses
    } catch (error) {
      if (isDefinite(error)) name.last = undefined
      throw error
    } finally {
      clearTimeout(timer)
      name.isSlow = isSlow
      name.running = undefined
    }
  }

  /** The queue of slow names. Each name has at most one lookup, so its length is at most the number of slow names. */
  function askInLine(hostname: string, name: Name): Promise<string[]> {
    const turn = slowLine.then(() => ask(hostname, name))
    slowLine = turn.catch(() => {})
    return turn
  }

  return async (hostname) => {
    const name = names.memo(hostname, () => ({ isSlow: false }))
    const wasSlow = name.isSlow
    if (!name.running) {
      name.running = wasSlow ? askInLine(hostname, name) : ask(hostname, name)
      // All callers may have been answered before the lookup fails.
      name.running.catch(() => {})
    }
    const { running, last } = name
    if (!last || performance.now() > last.atMs + STALE_MS) return inTime(running, deadlineMs)
    try {
      return wasSlow ? last.addresses : await inTime(running, SLOW_MS)
    } catch (error) {
      if (isDefinite(error)) throw error
      return last.addresses
    }
  }
}

/** A name server answered that the name does not exist. All other errors may be temporary. */
const isDefinite = (error: unknown): boolean => codeOf(error) === 'ENOTFOUND'

const inTime = <T>(work: Promise<T>, ms: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const late = Object.assign(new Error('the name was not resolved in time'), { code: 'ETIMEOUT' })
    const timer = setTimeout(reject, ms, late)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })

const byGetaddrinfo: LookUp = (hostname) =>
  new Promise((resolve, reject) => {
    dns.lookup(hostname, { all: true, order: 'verbatim' }, (error, found) =>
      error ? reject(error) : resolve(found.map(({ address }) => address)),
    )
  })

let current = createSystemNames(byGetaddrinfo)

/** Resolves a configured host name; an address resolves to itself. Rejects with the code of getaddrinfo, or ETIMEOUT. */
export const lookUpName: LookUp = async (hostname) => (net.isIP(hostname) ? [hostname] : current(hostname))

/** Replaces the lookup of this thread: the pool belongs to the process, and front threads must not each occupy a part of it. */
export function lookUpNamesBy(lookUp: LookUp): void {
  current = lookUp
}

/** The lookup function of sockets, based on `lookUp`. */
export const socketLookup =
  (lookUp: LookUp): LookupFunction =>
  (hostname, { all }, done) => {
    lookUp(hostname).then(
      (addresses) => {
        const found = addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }))
        if (all) done(null, found)
        else done(null, found[0]?.address ?? '', found[0]?.family)
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    )
  }

/** A socket of pg that resolves names with lookUpName: many connections to one name need one lookup. */
export class NamedSocket extends net.Socket {
  /** Takes a port and a host, or the path of a socket. */
  override connect(...to: unknown[]): this {
    const [port, host] = to
    if (typeof port === 'string' && host === undefined) return super.connect(port)
    return super.connect({ port: Number(port), host: String(host), lookup: socketLookup(lookUpName) })
  }
}
