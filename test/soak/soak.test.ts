// A mixed load that does not end soon: no fault, no memory that stays. SERVICE_SOAK_MINUTES says how long; `npm run soak`
// takes half an hour and prints what it saw.

import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type Placed, placed } from '../support/instances.ts'
import { pause } from '../support/wire.ts'
import { load, type Torture } from '../torture/clients.ts'
import { History } from '../torture/history.ts'
import { openScene } from '../torture/scene.ts'

const MINUTES = Number(process.env['SERVICE_SOAK_MINUTES'] ?? 0.1)
const PERIODS = Math.max(4, Math.round(MINUTES))
const PERIOD_MS = (MINUTES * 60_000) / PERIODS
const MB = 1024 * 1024
/** Before this the process still warms up, and no bound could tell that from memory that stays. */
const MEMORY_MINUTES = 5
const MEMORY_MB = 150
/** What clients remember of the past is bounded, or the soak would measure itself. */
const REMEMBERED = 2000

interface Figures {
  minute: number
  'tokens/s': number
  'p50 ms': number
  'p99 ms': number
  'not 200': number
  'memory MB': number
  'database MB': number
}

const quantile = (sorted: readonly number[], q: number) =>
  Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0) * 10) / 10
const megabytes = (bytes: number) => Math.round(bytes / MB)

function forget(history: History): void {
  for (const list of [history.issued, history.families, history.consumed, history.suspended])
    list.splice(0, Math.max(0, list.length - REMEMBERED))
  for (const token of [...history.revoked].slice(0, -REMEMBERED)) history.revoked.delete(token)
}

async function period(at: Placed, torture: Torture, minute: number): Promise<Figures> {
  const { history, machine } = torture
  const before = { ...history.answers }
  const times: number[] = []
  const endMs = performance.now() + PERIOD_MS
  while (performance.now() < endMs) {
    const startedMs = performance.now()
    expect((await machineToken(at, machine)).status).toBe(200)
    times.push(performance.now() - startedMs)
    forget(history)
    await pause(20)
  }
  const grown = (status: number) => (history.answers[status] ?? 0) - (before[status] ?? 0)
  const all = Object.keys(history.answers).reduce((sum, status) => sum + grown(Number(status)), 0)
  times.sort((a, b) => a - b)
  return {
    minute,
    'tokens/s': Math.round(grown(200) / (PERIOD_MS / 1000)),
    'p50 ms': quantile(times, 0.5),
    'p99 ms': quantile(times, 0.99),
    'not 200': all - grown(200),
    'memory MB': megabytes(at.instance.residentBytes()),
    'database MB': megabytes(statSync(at.env['SERVICE_STORAGE_SQLITE_PATH'] as string).size),
  }
}

const MEMORY = MINUTES < MEMORY_MINUTES ? '' : ', and memory that stays where it was after the first quarter'
test(`${MINUTES} minutes of mixed load cause no failed request${MEMORY}`, {
  timeout: MINUTES * 60_000 + 60_000,
}, async () => {
  const at = await placed(tempFolder(), {
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
    SERVICE_LOG_LEVEL: 'warn',
  })
  await at.instance.start()
  const scene = await openScene(at.env['SERVICE_SERVER_ISSUER'] as string, at.admin)
  const torture: Torture = { ...scene, history: new History(), base: () => at.instance.base, running: true }
  const ended = load(torture)
  const figures: Figures[] = []
  for (let i = 1; i <= PERIODS; i++) figures.push(await period(at, torture, (i * PERIOD_MS) / 60_000))
  torture.running = false
  await ended
  if (process.env['SERVICE_SOAK_MINUTES']) console.table(figures)
  expect(torture.history.faults).toEqual([])
  expect(at.instance.errors()).toEqual([])
  expect(figures.every((each) => each['tokens/s'] > 0)).toBe(true)
  if (MEMORY) {
    const memory = figures.map((each) => each['memory MB'])
    expect((memory.at(-1) ?? 0) - (memory[Math.floor(PERIODS / 4)] ?? 0)).toBeLessThan(MEMORY_MB)
  }
  expect((await fetch(`${at.instance.base}/health`)).status).toBe(200)
})
