// The operators scenario: list pages, statistics, a purge and an emergency revocation on a large database, and their effect on token latency.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../src/config/load.ts'
import { programFile } from '../../src/lib/paths.ts'
import { withStore } from '../../src/store/work.ts'
import { callLoopback } from '../load/loopback.ts'
import { type BenchTarget, HOT_CLIENTS } from '../load/target.ts'
import { beginTraffic, tokenRequest } from '../load/traffic.ts'
import { aligned } from '../report/table.ts'
import { median, percentilesOf } from '../statistics.ts'
import { start, stopAll } from './children.ts'
import { openBenchDatabase, storageEnv, withoutDatabase } from './databases.ts'
import { type Known, type Population, populate } from './populate.ts'
import type { BenchDatabase } from './probe.ts'
import { startService } from './service.ts'
import type { Settings, StoreName } from './settings.ts'

/** The rows of a large installation. */
export const LARGE: Population = { clients: 100_000, users: 100_000, issuances: 1_000_000, expired: 1_000_000 }
/** A small one, to test that everything works. */
export const SMALL: Population = { clients: 500, users: 500, issuances: 2000, expired: 2000 }

const ROUNDS = 20
/** Token requests per second: far below the capacity, because latency is measured, not throughput. */
const RATE = 200
const QUIET_SECONDS = 10
const BREATH_MS = 1000

/** Measures on a database of each kind that the settings name. Returns the tables. */
export async function measureOperators(
  population: Population,
  settings: Settings,
  say: (text: string) => void,
): Promise<string> {
  const parts: string[] = []
  for (const store of settings.stores) parts.push(`${store}\n\n${await measureOn(store, population, settings, say)}`)
  return parts.join('\n\n')
}

async function measureOn(
  store: StoreName,
  population: Population,
  settings: Settings,
  say: (text: string) => void,
): Promise<string> {
  const { database, remove } = await openBenchDatabase(settings, store, 0)
  try {
    return await measureDatabase(database, population, settings, say)
  } finally {
    await stopAll()
    await remove()
  }
}

async function measureDatabase(
  database: BenchDatabase,
  population: Population,
  settings: Settings,
  say: (text: string) => void,
): Promise<string> {
  say(
    `writing ${Object.entries(population)
      .map(([what, rows]) => `${rows} ${what}`)
      .join(', ')}`,
  )
  const { config } = loadConfig(undefined, storageEnv(database))
  const known = await withStore(config, (store) => populate(store, population), true)
  const [target] = await startService({
    clients: { hot: HOT_CLIENTS, cold: 0 },
    alg: 'ES256',
    database,
    // All tokens of the last day are live.
    env: { ...withoutDatabase(settings.env), SERVICE_CLIENT_CREDENTIALS_TOKEN_EXPIRY: '24h' },
  })
  say('requesting pages')
  const pages = await measurePages(target, known)
  say('token traffic')
  const rows: string[][] = []
  const traffic = async (what: string, work: () => Promise<string>) => rows.push(await underTraffic(target, what, work))
  await traffic('no other work', async () => {
    await sleep(QUIET_SECONDS * 1000)
    return ''
  })
  await traffic('GET /admin/stats, repeated', async () => {
    const endMs = performance.now() + QUIET_SECONDS * 1000
    let calls = 0
    for (; performance.now() < endMs; calls++) await ask(target, '/admin/stats')
    return `${calls} calls`
  })
  await traffic('service purge --only sessions', () => purge(database, settings))
  await traffic('POST /admin/revocations of every live token', async () => {
    const revoked = await finished(target, await ask(target, '/admin/revocations', { kid: 'k1' }))
    const { tokens } = revoked as { tokens: number }
    return `${tokens} tokens`
  })
  return [
    aligned([['page', 'first ms', 'p50 ms', 'max ms'], ...pages], new Set([0])),
    aligned(
      [[`tokens at ${RATE}/s during`, 'seconds', 'p50 ms', 'p99 ms', 'max ms', 'errors', 'result'], ...rows],
      new Set([0]),
    ),
  ].join('\n\n')
}

const pagesOf = ({ client_id, user_id, issuance_id, rare_resource }: Known): string[] => [
  '/admin/clients?limit=100',
  '/admin/clients?limit=100&order=newest',
  `/admin/clients?limit=100&after=${client_id}`,
  '/admin/clients?limit=100&offset=50000',
  '/admin/clients?limit=100&source=admin',
  `/admin/clients/${client_id}`,
  '/admin/users?limit=100',
  '/admin/users?limit=100&order=newest',
  `/admin/users?limit=100&after=${user_id}`,
  '/admin/users?limit=100&offset=50000',
  '/admin/users?email=user-4711@example.com',
  `/admin/users/${user_id}/grants`,
  '/admin/resources',
  '/admin/fronting',
  '/admin/issuances',
  '/admin/issuances?limit=100',
  `/admin/issuances?limit=100&after=${issuance_id}`,
  `/admin/issuances?client_id=${client_id}`,
  `/admin/issuances?user_id=${user_id}`,
  `/admin/issuances?limit=100&resource=${encodeURIComponent(rare_resource)}`,
  `/admin/issuances?client_id=${client_id}&resource=${encodeURIComponent(rare_resource)}`,
  `/admin/issuances/${issuance_id}`,
  '/admin/audit',
  '/admin/audit?limit=1000',
  '/admin/audit?action=client_created',
  '/admin/audit?action=token_issued',
  `/admin/audit?client_id=${client_id}`,
  `/admin/audit?actor_id=${user_id}`,
  '/admin/system/status',
  '/admin/stats',
  '/metrics',
]

/** Sends `json` in a POST, or a GET without it. Rejects unless the request succeeds. */
async function ask(target: BenchTarget, where: string, json?: object): Promise<unknown> {
  const { admin } = target.probe()
  const answer = await callLoopback(`${admin?.base}${where}`, {
    method: json ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${admin?.key}`, 'content-type': 'application/json' },
    ...(json ? { body: JSON.stringify(json) } : {}),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${where}: ${answer.status} ${text.slice(0, 200)}`)
  return where === '/metrics' ? text : JSON.parse(text)
}

/** The result of an operation. One that takes longer than ten seconds continues as a job. */
async function finished(target: BenchTarget, answer: unknown): Promise<unknown> {
  const { id, status = 'done', ...rest } = answer as { id?: string; status?: string; answer?: unknown }
  if (id === undefined) return answer
  if (status === 'done') return rest.answer
  if (status !== 'running') throw new Error(`the job is ${status}: ${JSON.stringify(rest)}`)
  await sleep(BREATH_MS)
  return finished(target, await ask(target, `/admin/jobs/${id}`))
}

async function measurePages(target: BenchTarget, known: Known): Promise<string[][]> {
  const rows: string[][] = []
  for (const page of pagesOf(known)) {
    const took: number[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const startedMs = performance.now()
      await ask(target, page)
      took.push(performance.now() - startedMs)
    }
    const [first = 0, ...rest] = took
    rows.push([page.replace(/[A-Za-z0-9_-]{22,}/g, '…'), ...[first, median(rest), Math.max(...rest)].map(digits)])
  }
  return rows
}

const digits = (ms: number) => ms.toFixed(1)

/** Measures the latency of tokens during some work. */
async function underTraffic(target: BenchTarget, what: string, work: () => Promise<string>): Promise<string[]> {
  const end = beginTraffic(target, RATE, tokenRequest(target))
  await sleep(BREATH_MS)
  const startedMs = performance.now()
  const done = await work()
  const seconds = (performance.now() - startedMs) / 1000
  const { latency, errors } = await end()
  const { p50, p99, max } = percentilesOf(latency)
  return [what, seconds.toFixed(1), digits(p50), digits(p99), digits(max), String(errors), done]
}

async function purge(database: BenchDatabase, { env }: Settings): Promise<string> {
  const args = [programFile('service'), 'purge', '--only', 'sessions', '--timeout', '0', '--json']
  const child = start(process.execPath, args, {
    env: { PATH: env['PATH'], ...storageEnv(database) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // The progress is on stderr.
  const printed = ['', '']
  for (const [i, stream] of [child.stdout, child.stderr].entries())
    stream?.on('data', (chunk: Buffer) => {
      printed[i] += String(chunk)
    })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`purge: ${printed.join('')}`)
  return `${(JSON.parse(printed[0] as string) as { deleted: number }[])[0]?.deleted} rows`
}
