// The supervisor's front pool: it starts and ends the front threads, and notifies them of the changes of other threads. A write is
// answered when every thread has removed the changed entries from its caches (docs/decisions/0014).

import { setTimeout as sleep } from 'node:timers/promises'
import type { App, FrontPool, FrontThreadReport } from '../context.ts'
import { sharedKeys } from '../crypto/shared_keys.ts'
import { AddressShare } from '../http/address_share.ts'
import type { HttpListener } from '../http/listener.ts'
import { checkFree } from '../http/node.ts'
import { SharedBucket } from '../http/rate_limit.ts'
import { loadNative } from '../http/uws.ts'
import { serialise } from '../lib/secret.ts'
import type { KeySetState } from '../net/jwks.ts'
import { STALE_MS } from '../store/cache.ts'
import { type ClientActivity, mergeActivity } from '../telemetry/client_activity.ts'
import type { FrontHandlers } from './front_handlers.ts'
import { FrontWorker } from './front_worker.ts'
import { requestRate } from './request_limit.ts'
import type { FrontData } from './supervisor_handlers.ts'

const REPORT_MS = 1000

/** Starts the front threads on the public address. Rejects when the address is taken or a thread cannot serve. */
export async function openFrontPool(app: App): Promise<HttpListener> {
  if (process.platform !== 'linux' || !loadNative())
    throw new Error('server.front_threads above 1 needs Linux and a native build of uWebSockets.js')
  const { address, front_threads } = app.config.server
  await checkFree(address)
  const pool = new FrontThreads(app)
  app.frontPool = pool
  try {
    const engine = await pool.start(front_threads)
    return {
      engine: `${engine}, ${front_threads} threads`,
      failed: pool.failed,
      drain: () => pool.drain(),
      close: (waitMs) => pool.close(waitMs),
    }
  } catch (error) {
    await pool.close(0)
    throw error
  }
}

class FrontThreads implements FrontPool {
  /** Rejects when a thread fails or exits before close(). */
  readonly failed: Promise<never>
  private fail: (error: Error) => void = () => {}
  private isClosing = false
  private readonly app: App
  private readonly threads: FrontWorker[] = []
  private readonly limit: SharedBucket
  private readonly share: AddressShare
  /** The threads that have operations of unknown outcome; the app represents this thread. A retry that arrives at another thread waits for their outcome. */
  private readonly unsettled = new Set<FrontWorker | App>()
  private readonly reporting: NodeJS.Timeout

  constructor(app: App) {
    this.app = app
    this.failed = new Promise((_, reject) => {
      this.fail = reject
    })
    this.failed.catch(() => {})
    this.limit = new SharedBucket(requestRate(app.config))
    this.share = new AddressShare(requestRate(app.config))
    this.divideLimit()
    this.followStore()
    this.followKeyring()
    this.reporting = setInterval(() => {
      this.divideLimit()
      void this.collect()
    }, REPORT_MS)
    this.reporting.unref()
  }

  /** Starts the threads. Resolves with the name of their HTTP engine when all of them listen. */
  async start(count: number): Promise<string> {
    for (let thread = 1; thread <= count; thread++)
      this.threads.push(
        new FrontWorker(this.app, thread, this.startData(), {
          failed: (error) => this.isClosing || this.fail(error),
          wrote: (from, write) => this.askAll('forget', write, from),
          unsettled: (from, isUnsettled) => this.setUnsettled(from, isUnsettled),
        }),
      )
    const engines = await Promise.all(this.threads.map(({ opened }) => Promise.race([opened, this.failed])))
    return engines[0] as string
  }

  drain(): Promise<void> {
    return this.askAll('drain', undefined)
  }

  async close(waitMs: number): Promise<void> {
    this.isClosing = true
    clearInterval(this.reporting)
    await Promise.all(this.threads.map((thread) => thread.close(waitMs)))
  }

  reports(): FrontThreadReport[] {
    return this.threads.map(({ lastReport }) => lastReport)
  }

  async collect(): Promise<void> {
    const isHealthy = this.app.store.driver.isHealthy()
    const all = this.threads.map((thread) => thread.collect(isHealthy))
    await Promise.race([Promise.allSettled(all), sleep(REPORT_MS, undefined, { ref: false })])
  }

  async activity(): Promise<ClientActivity[]> {
    const asked = this.threads.map(({ rpc }) => rpc.ask('activity', undefined).catch(() => []))
    return mergeActivity((await Promise.all(asked)).flat())
  }

  dropKeys(jwks_uri: string): Promise<void> {
    return this.askAll('dropKeys', jwks_uri)
  }

  async lookAtKeys(jwks_uri: string): Promise<KeySetState[]> {
    const asked = this.threads.map(({ rpc }) => rpc.ask('lookAtKeys', jwks_uri).then(Array.of<KeySetState>, () => []))
    return (await Promise.all(asked)).flat()
  }

  configure(): Promise<void> {
    return this.askAll('configure', serialise(this.app.config))
  }

  private startData(): FrontData {
    const { config, env, sealing, refreshSecrets, keyring, clientShare } = this.app
    return {
      config: serialise(config),
      env,
      sealing,
      refreshSecrets,
      bucket: this.limit.memory,
      shares: this.share.memory,
      clientShares: clientShare.memory,
      keyStore: keyring.store,
      keys: sharedKeys(keyring.keys()),
    }
  }

  private divideLimit(): void {
    const instances = this.app.store.driver.instances()
    this.limit.divideAmong(instances)
    this.share.divideAmong(instances)
    this.app.clientShare.divideAmong(instances)
  }

  /** Notifies the threads of writes of this thread and of other processes. */
  private followStore(): void {
    const { app } = this
    app.store.driver.unsettled?.onChange((isUnsettled) => this.setUnsettled(app, isUnsettled))
    app.store.onWrite((op, input) => this.askAll('forget', { op, input }))
    // On PostgreSQL every thread is notified by the database.
    if (app.store.driver.name === 'sqlite') app.store.driver.onForeignWrite(() => void this.askAll('forget', undefined))
  }

  /**
   * Sends new signing keys to the threads. A token that one thread signs must verify with the keys that another thread
   * publishes: all threads publish a new key before any of them signs with it.
   */
  private followKeyring(): void {
    const { keyring } = this.app
    let known = keyring.keys()
    keyring.onChange(async () => {
      const [before, keys] = [known, keyring.keys()]
      known = keys
      const added = keys.filter(({ kid }) => !before.some((key) => key.kid === kid))
      const published = [...before, ...added.map((key) => ({ ...key, next: true as const }))]
      if (added.length > 0) await this.askAll('keys', sharedKeys(published))
      await this.askAll('keys', sharedKeys(keys))
    })
  }

  private setUnsettled(at: FrontWorker | App, isUnsettled: boolean): Promise<unknown> {
    if (isUnsettled) this.unsettled.add(at)
    else this.unsettled.delete(at)
    const isElsewhere = (me: FrontWorker | App) => [...this.unsettled].some((each) => each !== me)
    this.app.store.driver.unsettled?.setHeldElsewhere(isElsewhere(this.app))
    return settledOrStale(this.threads.map((thread) => thread.rpc.ask('hold', isElsewhere(thread))))
  }

  /** Asks every thread except one. Resolves when all have answered, or after STALE_MS: the others are stuck then. */
  private async askAll<K extends 'keys' | 'forget' | 'dropKeys' | 'configure' | 'drain'>(
    what: K,
    input: Parameters<FrontHandlers[K]>[0],
    except?: FrontWorker,
  ): Promise<void> {
    const others = this.threads.filter((thread) => thread !== except)
    await settledOrStale(others.map(({ rpc }) => rpc.ask(what, input)))
  }
}

const settledOrStale = (answers: Promise<unknown>[]): Promise<unknown> =>
  Promise.race([Promise.allSettled(answers), sleep(STALE_MS, undefined, { ref: false })])
