// No input makes the service fail: no 500, no exit, no unexpected error in the log, and in a long run no memory growth.
// SERVICE_FUZZ_INPUTS sets the number of inputs, SERVICE_FUZZ_SEED the first seed.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { newSecret } from '../../src/lib/id.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import { openScene } from '../torture/scene.ts'
import { adminCorpus, publicCorpus } from './corpus.ts'
import { mutated, randomFrom } from './mutate.ts'

const INPUTS = Number(process.env['SERVICE_FUZZ_INPUTS'] ?? 6000)
const SEED = Number(process.env['SERVICE_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
const AT_ONCE = 64
/** Milliseconds within which every complete request is answered, on any machine. */
const ANSWER_MS = 20_000
/** An incomplete request gets no answer. The test stops waiting after this time, or after several times the duration of the slowest answer. */
const [PATIENCE_MS, SLOWEST] = [150, 5]
/** With fewer inputs, a memory leak cannot be told apart from the warm-up. */
const MEMORY_INPUTS = 200_000
/** Allowed growth in bytes for each input after the first quarter. */
const KEPT_BYTES = 500

/** The status of the answer; undefined when none came. */
function statusOf(port: number, bytes: Buffer, patienceMs: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (status?: number) => {
      clearTimeout(late)
      socket.destroy()
      resolve(status)
    }
    const late = setTimeout(end, patienceMs)
    socket.on('data', (chunk) => end(Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1])))
    socket.on('error', () => end())
    socket.on('close', () => end())
    socket.write(bytes)
  })
}

describe.each(['uws', 'node'])(`%s, seed ${SEED}`, (engine) => {
  test(`${INPUTS / 2} mutated requests to both listeners cause no internal error`, {
    timeout: 60_000 + INPUTS * 20,
  }, async () => {
    const at = await placed(tempFolder(), {
      SERVICE_SERVER_HTTP_ENGINE: engine,
      SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
      SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
      SERVICE_DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      SERVICE_CONNECT_STATE_SECRET: newSecret(),
      SERVICE_LOG_LEVEL: 'warn',
    })
    const { instance, port, adminPort, issuer } = at
    await instance.start()
    const scene = await openScene(issuer, at.admin)
    const { body } = await machineToken(at, scene.machine)
    const corpora = [
      { port, corpus: await publicCorpus(scene, String(body['access_token'])) },
      { port: adminPort, corpus: adminCorpus(scene) },
    ] as const
    let slowestMs = 0
    for (const { corpus, port } of corpora)
      for (const bytes of corpus) {
        const sentMs = performance.now()
        expect(await statusOf(port, bytes, ANSWER_MS), bytes.toString()).toBeLessThan(500)
        slowestMs = Math.max(slowestMs, performance.now() - sentMs)
      }
    const patienceMs = Math.max(PATIENCE_MS, SLOWEST * slowestMs)

    const random = randomFrom(SEED)
    const faults: string[] = []
    const statuses: Record<string, number> = {}
    const all = INPUTS / 2
    let sent = 0
    let warmBytes = 0
    const worker = async () => {
      while (sent++ < all) {
        if (sent === Math.floor(all / 4)) warmBytes = instance.residentBytes()
        const { port, corpus } = random() < 0.75 ? corpora[0] : corpora[1]
        const bytes = mutated(corpus, random)
        const status = await statusOf(port, bytes, patienceMs)
        statuses[String(status)] = (statuses[String(status)] ?? 0) + 1
        if (status !== undefined && status >= 500 && status !== 503 && status !== 501 && status !== 505)
          faults.push(`${status} for ${JSON.stringify(bytes.toString('latin1'))}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    expect(faults).toEqual([])
    expect(instance.errors()).toEqual([])
    // If all inputs were refused at once, the fuzzer would find nothing.
    expect(statuses['200']).toBeGreaterThan(INPUTS / 100)
    expect(statuses['400']).toBeGreaterThan(INPUTS / 100)
    if (all >= MEMORY_INPUTS) expect(instance.residentBytes() - warmBytes).toBeLessThan(KEPT_BYTES * all * (3 / 4))
    expect((await fetch(`${issuer}/health`)).status).toBe(200)
  })
})
