// The yardstick shows the current speed of the machine: a minimal program that issues client_credentials tokens, in a process of its
// own. The requests of one turn of the event loop form a batch. One thread signs it while another thread commits it, and requests are
// answered when both are done. It knows no clients and checks nothing.
import { generateKeyPairSync, randomFillSync } from 'node:crypto'
import { Piscina } from 'piscina'
import { loadNative } from '../../src/http/uws.ts'
import { onPlans } from '../run/children.ts'
import type { YardstickRow } from './yardstick_store.ts'

export interface YardstickPlan {
  port: number
  issuer: string
  resource: string
  scope: string
  /** The database that it creates. */
  file: string
}
interface Waiting {
  client_id: string
  answer(body: string): void
}

const LIFETIME = 3600
/** Maximum concurrent batches: with one, the threads wait for each other; with more, batches become too small. */
const MOST_BATCHES = 2
const ID_BYTES = 16

onPlans<YardstickPlan>(async ({ port, ...plan }) => {
  const build = loadNative()
  if (!build) throw new Error('no native build of uWebSockets.js loads on this platform')
  const ask = openBatches(plan)
  const app = build.native.App().any('/*', (res) => {
    let isGone = false
    res.onAborted(() => {
      isGone = true
    })
    let body = ''
    res.onData((chunk, isLast) => {
      body += Buffer.from(chunk).toString('latin1')
      if (!isLast) return
      const client_id = /(?:^|&)client_id=([^&]*)/.exec(body)?.[1] ?? ''
      const answer = (text: string) => {
        if (isGone) return
        res.cork(() => {
          res.writeHeader('content-type', 'application/json')
          res.writeHeader('cache-control', 'no-store')
          res.end(text)
        })
      }
      ask({ client_id, answer })
    })
  })
  await new Promise<void>((resolve, reject) => {
    app.listen('127.0.0.1', port, 0, (socket) => (socket ? resolve() : reject(new Error(`port ${port} is taken`))))
  })
  return { ready: true }
})

/** Starts the two threads. A request that is passed to the returned function is answered when it is signed and committed. */
function openBatches({ issuer, resource, scope, file }: Omit<YardstickPlan, 'port'>): (waiting: Waiting) => void {
  const thread = (name: string, workerData: unknown) =>
    new Piscina({
      filename: new URL(`./yardstick_${name}.js`, import.meta.url).href,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: MOST_BATCHES,
      recordTiming: false,
      workerData,
    })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signing = thread('sign', privateKey)
  const storing = thread('store', { file, resource, scope })
  let queue: Waiting[] = []
  let [isScheduled, running] = [false, 0]

  const flush = async () => {
    isScheduled = false
    if (queue.length === 0 || running >= MOST_BATCHES) return
    const batch = queue
    queue = []
    running++
    const now = Math.floor(Date.now() / 1000)
    const [iat, exp] = [now, now + LIFETIME]
    const rows: YardstickRow[] = batch.map(({ client_id }) => ({ id: newId(), client_id, iat, exp }))
    const payloads = rows.map(({ id, client_id }) =>
      JSON.stringify({ iss: issuer, sub: client_id, exp, iat, jti: id, client_id, aud: [resource], scope }),
    )
    const [tokens] = (await Promise.all([
      signing.run(JSON.stringify(payloads)),
      storing.run(JSON.stringify(rows)),
    ])) as [string[], unknown]
    running--
    batch.forEach(({ answer }, i) => {
      answer(JSON.stringify({ access_token: tokens[i], token_type: 'Bearer', expires_in: LIFETIME, scope }))
    })
    void flush()
  }
  return (waiting) => {
    queue.push(waiting)
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  }
}

const bytes = Buffer.alloc(ID_BYTES)
let [lastMs, count] = [0, 0]
/** Time-ordered ids, as keys must be. */
function newId(): string {
  const nowMs = Date.now()
  count = nowMs > lastMs ? 0 : count + 1
  lastMs = Math.max(lastMs, nowMs)
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | (count & 0xfff), 6)
  randomFillSync(bytes, 8, 8)
  return bytes.toString('base64url')
}
