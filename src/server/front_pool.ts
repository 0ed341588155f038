// The main thread where several front threads serve: it starts and ends them, has what there may be only one of, and tells
// them of what was changed before whoever changed it is answered (docs/decisions/0014).

import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { App, FrontThreadReport } from '../context.ts'
import { sharedKeys } from '../crypto/shared_keys.ts'
import type { HttpFront } from '../http/front.ts'
import { checkFree } from '../http/node.ts'
import { SharedBucket } from '../http/rate_limit.ts'
import { loadNative } from '../http/uws.ts'
import { unavailable } from '../lib/error.ts'
import { programFile } from '../lib/paths.ts'
import { RpcChannel } from '../lib/rpc.ts'
import { serialise } from '../lib/secret.ts'
import { STALE_MS } from '../store/cache.ts'
import { mergeActivity } from '../telemetry/client_activity.ts'
import { addTo } from '../telemetry/transfer.ts'
import type { FrontHandlers, FrontReport } from './front_handlers.ts'
import type { FrontData } from './supervisor.ts'
import { supervisorHandlers } from './supervisor.ts'

interface Front {
  rpc: RpcChannel<FrontHandlers>
  worker: Worker
  shown: FrontThreadReport
  gone: Promise<void>
}

const REPORT_MS = 1000
/** A thread that has not ended this long after it should have drained is ended; one that still loads its modules takes the process with it then. */
const LAST_MS = 10_000

/** Starts the front threads on the public address. Rejects when it is taken, or they cannot serve. */
export async function openFronts(app: App): Promise<HttpFront> {
  if (process.platform !== 'linux' || !loadNative())
    throw new Error('server.front_threads above 1 needs Linux and a native build of uWebSockets.js')
  const { server, rate_limit } = app.config
  await checkFree(server.address)
  const fronts: Front[] = []
  const state = { closing: false }
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  failed.catch(() => {})
  const limit = rate_limit.enabled ? new SharedBucket(rate_limit.requests_per_second, rate_limit.burst) : undefined
  const divide = () => limit?.divideAmong(app.store.driver.instances())
  divide()
  const data = (): FrontData => ({
    config: serialise(app.config),
    env: app.env,
    sealing: app.sealing,
    refreshSecret: app.refreshSecret,
    bucket: limit?.memory,
    keyStore: app.keyring.store,
    keys: sharedKeys(app.keyring.keys()),
  })
  /** Has every front thread do something, but for one; resolves when all have, or when who has not is stuck. */
  const toAll = async <K extends 'keys' | 'forget' | 'dropKeys'>(
    what: K,
    input: Parameters<FrontHandlers[K]>[0],
    but?: Front,
  ) => {
    await inTime(fronts.filter((each) => each !== but).map(({ rpc }) => rpc.ask(what, input)))
  }
  /** The threads that have operations of unknown outcome: a repetition at another one waits for them. */
  const unsettled = new Set<Front | App>()
  const setUnsettled = (at: Front | App, isUnsettled: boolean) => {
    if (isUnsettled) unsettled.add(at)
    else unsettled.delete(at)
    const isElsewhere = (me: Front | App) => [...unsettled].some((each) => each !== me)
    app.store.driver.unsettled?.setHeldElsewhere(isElsewhere(app))
    return inTime(fronts.map((front) => front.rpc.ask('hold', isElsewhere(front))))
  }
  app.store.driver.unsettled?.onChange((isUnsettled) => setUnsettled(app, isUnsettled))
  app.store.onWrite((op, input) => toAll('forget', { op, input }))
  let known = app.keyring.keys()
  app.keyring.onChange(async () => {
    const [before, keys] = [known, app.keyring.keys()]
    known = keys
    const added = keys.filter(({ kid }) => !before.some((key) => key.kid === kid))
    // A token that one thread signs must verify with the keys that another one publishes: first all of them show the key, then they sign with it.
    const shown = [...before, ...added.map((key) => ({ ...key, next: true as const }))]
    if (added.length > 0) await toAll('keys', sharedKeys(shown))
    await toAll('keys', sharedKeys(keys))
  })
  // On PostgreSQL each of them hears of it by itself.
  if (app.store.driver.name === 'sqlite') app.store.driver.onForeignWrite(() => void toAll('forget', undefined))

  const start = async (thread: number): Promise<string> => {
    const worker = new Worker(programFile('front'), { workerData: data() })
    const broken = (error: Error) => {
      rpc.break(unavailable('the service is ending', { reason: 'front_thread_gone', cause: error }))
      if (!state.closing) fail(error)
    }
    let opened: (engine: string) => void = () => {}
    const opening = new Promise<string>((resolve) => {
      opened = resolve
    })
    const answers = supervisorHandlers(app, {
      opened: (engine) => opened(engine),
      failed: ({ message, stack }) =>
        fail(Object.assign(new Error(`front thread ${thread} failed: ${message}`), { stack })),
      wrote: ({ op, input }) => {
        app.store.forget(op, input)
        return toAll('forget', { op, input }, front)
      },
      unsettled: (isUnsettled) => setUnsettled(front, isUnsettled),
    })
    const rpc = new RpcChannel<FrontHandlers>(worker, { asText: false })
    rpc.listen(answers)
    worker.on('error', (error) => {
      broken(new Error(`front thread ${thread} failed: ${error.message}`, { cause: error }))
    })
    const gone = new Promise<void>((resolve) => {
      worker.on('exit', () => {
        broken(new Error(`front thread ${thread} ended`))
        resolve()
      })
    })
    const front: Front = { rpc, worker, gone, shown: { thread, requests: 0, lanes: {}, caches: {}, busy: 0 } }
    fronts.push(front)
    return Promise.race([opening, failed])
  }

  const take = ({ shown }: Front, { moved, answered, ...rest }: FrontReport): void => {
    addTo(app.metrics, moved)
    app.series.addAnswered(answered)
    const answeredNow = moved.counts.filter(([name]) => name === 'core_http_requests_total')
    Object.assign(shown, rest, { requests: answeredNow.reduce((sum, [, , by]) => sum + by, shown.requests) })
  }
  const collect = async (): Promise<void> => {
    const isHealthy = app.store.driver.isHealthy()
    const all = fronts.map(async (front) => take(front, await front.rpc.ask('report', { isHealthy })))
    await Promise.race([Promise.allSettled(all), sleep(REPORT_MS, undefined, { ref: false })])
  }
  const end = async (front: Front, waitMs: number): Promise<void> => {
    const last = front.rpc.ask('close', waitMs).then(
      (report) => take(front, report),
      () => {},
    )
    await Promise.race([last.then(() => front.gone), sleep(waitMs + LAST_MS, undefined, { ref: false })])
    await front.worker.terminate()
  }
  const close = async (waitMs: number): Promise<void> => {
    state.closing = true
    clearInterval(reporting)
    await Promise.all(fronts.map((front) => end(front, waitMs)))
  }

  const reporting = setInterval(() => {
    divide()
    void collect()
  }, REPORT_MS)
  reporting.unref()
  app.frontPool = {
    reports: () => fronts.map(({ shown }) => shown),
    collect,
    dropKeys: (jwks_uri) => toAll('dropKeys', jwks_uri),
    activity: async () => {
      const asked = fronts.map(({ rpc }) => rpc.ask('trails', undefined).catch(() => []))
      return mergeActivity((await Promise.all(asked)).flat())
    },
  }
  try {
    const numbers = Array.from({ length: server.front_threads }, (_, i) => i + 1)
    const [engine] = await Promise.all(numbers.map(start))
    return { engine: `${engine}, ${server.front_threads} threads`, failed, close }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** Resolves when all threads have done something, or when who has not is stuck. */
const inTime = (told: Promise<unknown>[]): Promise<unknown> =>
  Promise.race([Promise.allSettled(told), sleep(STALE_MS, undefined, { ref: false })])
