// Ports that nobody listens on. Port 0 is not enough for a service whose issuer names its port before it listens: the system may
// give the port to somebody else in between. So each process keeps a block of ports to itself, by listening on the first of them
// for as long as it lives, and hands out the others in turn.
import { createServer, type Server } from 'node:net'

/** Below those that Linux gives to connections. */
const FIRST = 10_000
const BLOCK = 200
const BLOCKS = 110
/** `fetch` refuses to connect to it. */
const REFUSED_BY_FETCH = 10_080

let block: Promise<number> | undefined
let used = 0

/** A port that nobody listens on, and that no other test process is given while this one lives. */
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

/** Listens on all addresses; undefined when somebody else does. */
function listening(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, () => resolve(server))
  })
}
