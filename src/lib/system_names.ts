// Host names that operators configure, looked up by the system: /etc/hosts, search domains, nsswitch.conf. getaddrinfo cannot be
// cancelled, and libuv runs it on half of its pool: two look-ups at a time in the whole process, unless UV_THREADPOOL_SIZE says
// otherwise. A silent name server must not let one name hold the others, so each name has one look-up at a time, names that were
// slow share one of the places, and a known name is answered from its last addresses while a look-up takes too long.

import type { LookupAddress } from 'node:dns'
import dns from 'node:dns'
import net, { type LookupFunction } from 'node:net'
import { codeOf } from './error.ts'
import { Lru } from './lru.ts'

/** Returns the addresses of a host name. Rejects with an error that has a code. */
export type LookUp = (hostname: string) => Promise<string[]>

interface Name {
  /** The look-up that everybody who asks for this name waits for. */
  running?: Promise<string[]>
  last?: { addresses: string[]; atMs: number }
  /** The last look-up, or the one that runs, took longer than SLOW_MS. */
  isSlow: boolean
}

const MAX_NAMES = 1000
/** A known name is answered from its last addresses after this. */
const SLOW_MS = 1000
/** The look-up itself may take longer. */
const DEADLINE_MS = 5000
/** How long the last addresses of a name are used while look-ups fail or are slow. */
const STALE_MS = 3_600_000

/** Makes the look-up of names by `resolve`, with the rules above. Callers wait `deadlineMs` for a name that is not known. */
export function createSystemNames(resolve: LookUp, deadlineMs = DEADLINE_MS): LookUp {
  const names = new Lru<Name>(MAX_NAMES)
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

  /** One after the other. There is one look-up for each name, so that the line is as long as there are slow names. */
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
      // Everybody who waits for it may have been answered before it fails.
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

/** The name does not exist, which a name server said. Everything else may be different the next time. */
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

/** Looks up a host name that an operator configured; an address is its own. Rejects with the code of getaddrinfo, or ETIMEOUT. */
export const lookUpName: LookUp = async (hostname) => (net.isIP(hostname) ? [hostname] : current(hostname))

/** Has `lookUp` answer in this thread: the pool belongs to the process, and front threads must not each hold a part of it. */
export function lookUpNamesBy(lookUp: LookUp): void {
  current = lookUp
}

/** A look-up for sockets that answers with what `lookUp` says. */
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

/** A socket of pg that has names looked up as everything else does: many connections to one name need one look-up. */
export class NamedSocket extends net.Socket {
  /** Takes a port and a host, or the path of a socket. */
  override connect(...to: unknown[]): this {
    const [port, host] = to
    if (typeof port === 'string' && host === undefined) return super.connect(port)
    return super.connect({ port: Number(port), host: String(host), lookup: socketLookup(lookUpName) })
  }
}
