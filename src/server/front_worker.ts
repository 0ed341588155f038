// The supervisor's end of one front thread: the worker thread, the RPC channel to it, and its last report.
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { App, FrontThreadReport } from '../context.ts'
import { unavailable } from '../lib/error.ts'
import { programFile } from '../lib/paths.ts'
import { RpcChannel } from '../lib/threads/rpc.ts'
import { addTo } from '../telemetry/transfer.ts'
import type { FrontHandlers, FrontReport } from './front_handlers.ts'
import { type FrontData, supervisorHandlers, type Write } from './supervisor_handlers.ts'

/** A thread that has not exited this long after the end of its drain is terminated. A thread that is still loading its modules then ends the process. */
const EXIT_GRACE_MS = 10_000

/** The notifications of a front thread to its pool. */
export interface FrontEvents {
  failed(error: Error): void
  /** Called for a write of this thread. The write is answered when the promise has resolved. */
  wrote(from: FrontWorker, write: Write): Promise<unknown>
  /** The thread has operations of unknown outcome, or has none any more. */
  unsettled(from: FrontWorker, isUnsettled: boolean): Promise<unknown>
}

/** A running front thread. */
export class FrontWorker {
  readonly rpc: RpcChannel<FrontHandlers>
  /** Resolves with the name of the HTTP engine when the thread listens. */
  readonly opened: Promise<string>
  readonly lastReport: FrontThreadReport
  private readonly app: App
  private readonly worker: Worker
  private readonly exited: Promise<void>

  /** `thread` is its number, from 1. */
  constructor(app: App, thread: number, data: FrontData, events: FrontEvents) {
    this.app = app
    this.lastReport = { thread, requests: 0, lanes: {}, caches: {}, busy: 0 }
    this.worker = new Worker(programFile('front'), { workerData: data })
    this.rpc = new RpcChannel(this.worker, { asText: false })
    this.opened = this.serve(events)
    this.exited = this.watch(events)
  }

  /** Asks the thread for a report and adds its counts to the metrics of this thread. */
  async collect(isHealthy: boolean): Promise<void> {
    this.take(await this.rpc.ask('report', { isHealthy }))
  }

  /** Drains the thread for up to `waitMs`, takes its last report and ends it. */
  async close(waitMs: number): Promise<void> {
    const lastReport = this.rpc.ask('close', waitMs).then(
      (report) => this.take(report),
      () => {},
    )
    await Promise.race([lastReport.then(() => this.exited), sleep(waitMs + EXIT_GRACE_MS, undefined, { ref: false })])
    await this.worker.terminate()
  }

  /** Answers the requests of the thread. */
  private serve({ failed, wrote, unsettled }: FrontEvents): Promise<string> {
    const { app, rpc } = this
    return new Promise((opened) => {
      rpc.listen(
        supervisorHandlers(app, {
          opened,
          failed: ({ message, stack }) => failed(Object.assign(this.failure(message), { stack })),
          wrote: (write) => {
            app.store.forget(write.op, write.input)
            return wrote(this, write)
          },
          unsettled: (isUnsettled) => unsettled(this, isUnsettled),
        }),
      )
    })
  }

  /** Reports an error or an unexpected exit. Resolves when the thread has exited. */
  private watch({ failed }: FrontEvents): Promise<void> {
    const broken = (error: Error) => {
      this.rpc.break(unavailable('the service is shutting down', { reason: 'front_thread_gone', cause: error }))
      failed(error)
    }
    this.worker.on('error', (error) => broken(this.failure(error.message, error)))
    return new Promise((exited) => {
      this.worker.on('exit', () => {
        broken(new Error(`front thread ${this.lastReport.thread} ended`))
        exited()
      })
    })
  }

  private failure(message: string, cause?: unknown): Error {
    return new Error(`front thread ${this.lastReport.thread} failed: ${message}`, cause ? { cause } : {})
  }

  private take({ moved, answered, certificates, sums, failures, ...rest }: FrontReport): void {
    this.app.certificates.take(certificates)
    addTo(this.app.metrics, moved)
    this.app.series.addAnswered(answered)
    for (const each of sums) this.app.sums.add(each)
    for (const each of failures) this.app.failures.add(each)
    const requests = moved.counts.filter(([name]) => name === 'core_http_requests_total').map(([, , by]) => by)
    Object.assign(this.lastReport, rest, {
      requests: requests.reduce((sum, by) => sum + by, this.lastReport.requests),
    })
  }
}
