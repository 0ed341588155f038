// The store: every operation as an asynchronous call. The type is derived from the operations; a driver runs them.

import type { BatchListener, LaneStats } from '../lib/lane.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Trace } from '../telemetry/trace.ts'
import { type CacheStats, cached, type Invalidation, type Wrote } from './cache.ts'
import type { Operations, OpName } from './operations.ts'
import { ops } from './operations.ts'

/** Without an answer for this long a storage counts as away. */
export const UNHEALTHY_MS = 5000
/** Most operations that wait in a queue of a driver; the next one is refused. */
export const MAX_QUEUE = 4096

/** Operations of one thread that may have been committed although their callers were told to try again. */
export interface UnsettledHere {
  /** Whom to tell when there are some, and when there are none any more: callers are answered when it has been told. */
  onChange(tell: (isUnsettled: boolean) => Promise<unknown>): void
  /** Has operations wait, as long as another thread of this process has some, that may be repetitions of these. */
  setHeldElsewhere(isUnsettledElsewhere: boolean): void
}

/** Runs operations, each in a transaction of its own or of its batch; resolves after the commit. */
export interface Driver {
  readonly name: 'sqlite' | 'postgres'
  readonly stats: LaneStats
  /** Connections by state, where there is a pool. */
  connections?(): Record<'open' | 'idle' | 'waiting', number>
  /** Whether the database answered within the last seconds, and keeps what it is given (store/health.ts). */
  isHealthy(): boolean
  /** How many instances share the database, this one included. */
  instances(): number
  call(op: OpName, input: unknown, onBatch?: BatchListener): Promise<unknown>
  /** Called when another process has written to the database, or may have: with what it was about, or undefined for anything. */
  onForeignWrite(listener: (about?: Invalidation) => void): void
  /** Where an outcome can be unknown. */
  readonly unsettled?: UnsettledHere
  close(): Promise<void>
}

export interface Store extends Operations {
  readonly driver: Driver
  /** The store on behalf of a traced request: what reaches the database is a span below this one. */
  within(trace: Trace): Store
  readonly caches: CacheStats
  /** Forgets everything that was read before. */
  dropCaches(): void
  /** Forgets what a write changes that another thread of this process made. */
  forget(op: OpName, input: unknown): void
  /** Whom to tell of a write that others may have in a cache. Its caller is answered when they have been told. */
  onWrite(wrote: Wrote): void
}

/** Puts the operations, the caches and the measurement of every call on top of a driver. */
export function createStore(driver: Driver, metrics: Metrics): Store {
  const call = async (op: OpName, input: unknown, trace?: Trace): Promise<unknown> => {
    const startedMs = performance.now()
    try {
      if (!trace) return await driver.call(op, input)
      const attributes = { 'db.operation.name': op, 'db.system.name': driver.name }
      return await trace.span(`store ${op}`, attributes, (inner) =>
        driver.call(op, input, (size) => inner.set({ 'batch.size': size })),
      )
    } finally {
      metrics.observe('core_db_operation_duration_seconds', (performance.now() - startedMs) / 1000, { op })
    }
  }
  let wrote: Wrote = () => undefined
  const names = Object.keys(ops) as OpName[]
  const { operations, traceable, caches, dropCaches, forget, take } = cached(names, call, (op, input) =>
    wrote(op, input),
  )
  driver.onForeignWrite(take)
  const store: Store = {
    ...operations,
    driver,
    caches,
    dropCaches,
    forget,
    onWrite: (tell) => {
      wrote = tell
    },
    within: (trace) =>
      new Proxy(store, {
        // What somebody put in the place of an operation stays there.
        get: (_, name: keyof Store) =>
          name in operations && store[name] === operations[name as OpName]
            ? (input: unknown) => traceable[name as OpName](input, trace)
            : store[name],
      }),
  }
  return store
}
