// Free ports. Port 0 is not enough for a service whose issuer names its port before it listens: the system may
// give the port to another program in between. So each process reserves a block of ports by listening on the first of them
// until it ends, and returns the others in turn.
import { createServer, type Server } from 'node:net'

/** Below the ports that Linux gives to connections. */
const FIRST = 10_000
const BLOCK = 200
const BLOCKS = 110
/** `fetch` refuses to connect to it. */
const REFUSED_BY_FETCH = 10_080

let block: Promise<number> | undefined
let used = 0

/** A free port, which no other test process gets while this one runs. */
export async function freePort(): Promise<number> {
  block ??= claimBlock()
  const first = await block
  const port = first + 1 + (used++ % (BLOCK - 1))
  const probe = port === REFUSED_BY_FETCH ? undefined : await listening(port)
  if (!probe) return freePort()
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** The first port of a block that no other process has claimed. */
async function claimBlock(): Promise<number> {
  const first = FIRST + BLOCK * Math.floor(Math.random() * BLOCKS)
  const claim = await listening(first)
  claim?.unref()
  return claim ? first : claimBlock()
}

/** Listens on all addresses; undefined if the port is in use. */
function listening(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, () => resolve(server))
  })
}
