// A run: starts the servers, measures every workload on them in alternation, searches the knee, and returns the report.

import type { FeedPlan } from '../load/feeds.ts'
import { type GeneratorPlan, type LoopPlan, limitSeconds } from '../load/generator_plan.ts'
import { findKnee } from '../load/knee.ts'
import { runLoad } from '../load/load.ts'
import type { BenchTarget } from '../load/target.ts'
import { foreignTarget, startPeer, startYardstick } from '../peers/peers.ts'
import { checkPlan } from '../plan/check.ts'
import { middleRound, type Report, SCHEMA_VERSION, type WorkResult } from '../report/report.ts'
import { calibrate, measureSpeed } from './calibrate.ts'
import { nextMessage, startFile, stopAll, stop as stopChild } from './children.ts'
import { openBenchDatabase, withoutDatabase } from './databases.ts'
import { readMachine, readVersion, readVersions } from './machine.ts'
import type { Progress } from './progress.ts'
import type { Sample } from './sample.ts'
import { loadOf, type Mix, mixOf, type Work, type WorkLoad, works, worksOf } from './scenarios.ts'
import { callersSettings, startService } from './service.ts'
import { type AlgName, COLD_CLIENTS, type Settings, type StoreName } from './settings.ts'

interface Run {
  settings: Settings
  progress: Progress
  /** Aborts when the run must end with the results so far. */
  end: AbortSignal
  report: Report
}
/** The properties that all workloads of one part of a run share. */
interface Part {
  store: StoreName
  alg: AlgName
  fill: number
}

const LOAD_SECONDS = 120
const ladderSeconds = ({ seconds }: Settings) => Math.max(1, Math.round(seconds / 2))

/** The workloads that a run measures. */
function chosenWorks({ scenarios, cold, mix }: Settings): readonly Work[] {
  const named = works.filter((work) => scenarios.some((name) => worksOf(name, cold).includes(work)))
  if (!mix) return named
  const parts = mix.map(({ work }) => work)
  return [...new Set([...named, ...parts]), mixOf(mix)]
}

/** Executes a run. When `signal` aborts, it ends early with the results so far. Rejects when the service cannot be started. */
export async function bench(settings: Settings, progress: Progress, signal: AbortSignal): Promise<Report> {
  const startedMs = performance.now()
  const report: Report = {
    schema: SCHEMA_VERSION,
    created_at: new Date().toISOString(),
    seconds: 0,
    partial: false,
    ...readVersion(),
    machine: readMachine(),
    settings: {
      connections: settings.connections,
      seconds: settings.seconds,
      warmup: settings.warmup,
      rounds: settings.rounds,
      slo_p99_ms: settings.sloMs,
      smoke: settings.smoke,
      clients: settings.clients,
      callers: Object.keys(callersSettings(withoutDatabase(settings.env))),
      versions: readVersions(),
    },
    calibration: calibrate(undefined),
    speeds: [],
    results: [],
  }
  // The signal of AbortSignal.any can be collected as garbage on Node 20 before its timeout aborts it.
  const ending = new AbortController()
  const end = ending.signal
  const onEnd = () => {
    ending.abort()
    void stopAll()
  }
  const timer = setTimeout(onEnd, settings.maxMinutes * 60_000)
  signal.addEventListener('abort', onEnd, { once: true })
  if (signal.aborted) onEnd()
  try {
    for (const part of partsOf(settings)) if (!end.aborted) await measurePart({ settings, progress, end, report }, part)
  } catch (error) {
    if (!end.aborted) throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onEnd)
    await stopAll()
  }
  return { ...report, partial: end.aborted, seconds: (performance.now() - startedMs) / 1000 }
}

const partsOf = ({ stores, algs, fills }: Settings): Part[] =>
  stores.flatMap((store) => algs.flatMap((alg) => fills.map((fill) => ({ store, alg, fill }))))

async function measurePart(run: Run, part: Part) {
  const { settings, progress, end, report } = run
  const chosen = chosenWorks(settings)
  const clients = { hot: settings.clients, cold: chosen.some((work) => work.cold) ? COLD_CLIENTS : 0 }
  progress.say(
    `${part.store}, ${part.alg}${part.fill ? `, filled with ${part.fill} issuances` : ''}: starting, registering clients`,
  )
  const { database, remove } = await openBenchDatabase(settings, part.store, part.fill)
  const targets: BenchTarget[] = []
  // Store and algorithm do not change a peer, so it is measured once.
  const isFirst = report.results.length === 0
  try {
    const { instances, env } = settings
    for (const shape of settings.shapes ?? [undefined]) {
      const options = { clients, alg: part.alg, instances, env: withoutDatabase(env) }
      // Services beside each other have a database each.
      targets.push(...(await startService({ ...options, shape, database: shape ? undefined : database })))
    }
    const service = targets[0] as BenchTarget
    if (isFirst && settings.peer) {
      const peer = await startPeer(clients)
      report.settings.versions[`node of ${peer.name}`] = peer.node
      targets.push(peer)
    }
    if (isFirst) targets.push(...settings.peers.map(foreignTarget))
    if (isFirst && settings.yardstick) targets.push(await startYardstick(clients))
    if (isFirst) report.calibration = calibrate(await httpFloor(service, settings))
    for (const work of chosen) {
      if (end.aborted) return
      report.speeds?.push(measureSpeed())
      report.results.push(...(await measureWork(run, work, targets, part)))
    }
    report.speeds?.push(measureSpeed())
    if (isFirst && settings.mix && !end.aborted) report.plan_check = await runPlanned(run, settings.mix, service)
  } finally {
    await Promise.all(targets.map((target) => target.stop()))
    await remove()
  }
}

const NO_LOGIN = { authorizePath: '', cookie: '', tokenPath: '', codeForm: '', refreshForm: '' }

/** The cheapest request, which shows the cost of HTTP itself. */
const httpFloor = (target: BenchTarget, { connections, warmup }: Settings): Promise<Sample> => {
  const feed: FeedPlan = { kind: 'same', path: '/livez', forms: [], expected: 'ok' }
  return withGenerator({ base: target.base, login: NO_LOGIN, feed }, target, connections, async (measure) => {
    await measure({ seconds: 0.3 })
    return measure({ seconds: warmup })
  })
}

interface Measured {
  target: BenchTarget
  load: WorkLoad
  result: WorkResult
}

/** All rounds of a workload. The order of the servers changes from round to round, so that a drift of the machine affects all of them. */
async function measureWork(run: Run, work: Work, all: readonly BenchTarget[], part: Part): Promise<WorkResult[]> {
  const { settings, progress } = run
  const results: WorkResult[] = []
  const measured: Measured[] = []
  for (const target of all) {
    const result = emptyResult(work, target, part, settings)
    // A failure is recorded in the result of its server; the other servers are still measured.
    await attempt(run, result, async () => {
      const load = await loadOf(work, target)
      if (!load) return
      result.generator = generatorOf(load, settings)
      measured.push({ target, load, result })
    })
    if (result.failed || measured.at(-1)?.result === result) results.push(result)
  }
  for (let round = 0; round < settings.rounds; round++)
    for (const { target, load, result } of round % 2 ? measured.toReversed() : measured)
      await attempt(run, result, async () => {
        const sample = await measureClosed(work, load, target, settings)
        result.rounds.push(sample)
        progress.measured(`${result.work}, ${result.server}, maximum rate`, sample)
      })
  const first = measured.find(({ target }) => target === all[0])
  const ceiling = first && middleRound(first.result)?.per_s
  // The server knows the 20,000 clients after a second or two: too short to search the knee.
  if (first && ceiling && settings.open && !work.cold)
    await attempt(run, first.result, () => climb(run, first, ceiling))
  return results
}

/** Executes a step of a measurement. A failure is recorded, and the run continues. */
async function attempt({ end, progress }: Run, result: WorkResult, measure: () => Promise<void>): Promise<void> {
  if (end.aborted || result.failed) return
  try {
    await measure()
  } catch (error) {
    if (end.aborted) return
    result.failed = (error as Error).message
    progress.say(`${result.work}, ${result.server}: ${result.failed}`)
  }
}

async function climb({ settings, progress }: Run, { target, load, result }: Measured, ceiling: number): Promise<void> {
  const seconds = ladderSeconds(settings)
  await withGenerator(load, target, target.connections ?? settings.connections, async (measure) => {
    await measure({ seconds: settings.warmup })
    const tryOut = async (rate: number, again?: string) => {
      const sample = await measure({ seconds, rate })
      progress.measured(`${result.work}, at ${Math.round(rate)}/s${again ? `, repeated: ${again}` : ''}`, sample)
      return sample
    }
    await findKnee(ceiling, settings.sloMs, tryOut, result)
  })
}

/** Measures the mix at its planned rate. */
function runPlanned({ report, settings, progress }: Run, mix: Mix, target: BenchTarget) {
  const work = mixOf(mix)
  const result = report.results.find((each) => each.work === work.name && each.server === target.name)
  return checkPlan(report, mix, result, async (rate) => {
    const load = (await loadOf(work, target)) as WorkLoad
    const { warmup, seconds } = settings
    return withGenerator(load, target, settings.connections, async (measure) => {
      await measure({ seconds: warmup, rate })
      const sample = await measure({ seconds, rate })
      progress.measured(`${work.name}, at the planned ${Math.round(rate)}/s`, sample)
      return sample
    })
  })
}

const isRotation = ({ feed }: WorkLoad) => feed.kind === 'same' && feed.forms.length > 0
const generatorOf = (load: WorkLoad, { generator }: Settings) => (isRotation(load) ? generator : 'own')

function emptyResult(work: Work, target: BenchTarget, part: Part, { generator }: Settings): WorkResult {
  const its = target.isService ? part : { store: 'none' as const, alg: 'ES256' as const, fill: 0 }
  return { work: work.name, server: target.name, ...its, generator, rounds: [], ladder: [], knee: null }
}

/** One measurement of the maximum rate, after a warm-up. */
async function measureClosed(work: Work, load: WorkLoad, target: BenchTarget, settings: Settings): Promise<Sample> {
  const { seconds, warmup } = settings
  const { connections = settings.connections } = target
  if (work.cold) await target.restart?.()
  const { feed } = load
  if (generatorOf(load, settings) === 'own' || feed.kind !== 'same') {
    if (load.warmup)
      await withGenerator({ ...load, feed: load.warmup }, target, connections, (go) => go({ seconds: warmup }))
    return withGenerator(load, target, connections, async (measure) => {
      if (!load.warmup) await measure({ seconds: warmup })
      return measure({ seconds })
    })
  }
  const plan = { url: target.base + feed.path, connections, processors: target.loadProcessors }
  const before = load.warmup?.kind === 'same' ? load.warmup.forms : feed.forms
  await runLoad({ ...plan, bodies: before, seconds: warmup }, target.probe())
  return runLoad({ ...plan, bodies: feed.forms, seconds }, target.probe())
}

/** Opens a load generator for some measurements of a target, and closes it. */
async function withGenerator<R>(
  load: WorkLoad,
  target: BenchTarget,
  connections: number,
  use: (measure: (plan: LoopPlan) => Promise<Sample>) => Promise<R>,
): Promise<R> {
  const plan: GeneratorPlan = { ...load, otherBases: target.otherBases, probe: target.probe(), connections }
  const child = startFile('generator', plan, target.loadProcessors)
  try {
    await nextMessage(child, LOAD_SECONDS)
    return await use(async (loop) => {
      child.send(loop)
      return (await nextMessage(child, limitSeconds(loop.seconds) + LOAD_SECONDS)) as Sample
    })
  } finally {
    await stopChild(child)
  }
}
