// The store: every operation as an asynchronous call. The type is derived from the operations; a driver runs them.

import type { BatchListener, LaneStats } from '../lib/threads/lane.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { SharedSetting } from '../records/instance.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { activeTrace } from '../telemetry/trace.ts'
import { cached, type Invalidation, type StoreCaches, type Wrote } from './cache.ts'
import type { InputOf, Operations, OpName, RecordedOp, ResultOf } from './operations.ts'
import { ops } from './operations.ts'

/** A storage without an answer for this long counts as unavailable. */
export const UNHEALTHY_MS = 5000
/** Maximum number of operations in a queue of a driver. Further operations are refused. */
export const MAX_QUEUE = 4096

/** Operations of one thread that may have been committed although their callers received an error and may retry. */
export interface UnsettledHere {
  /** Registers a listener for whether there are such operations. Callers are answered after the listener has resolved. */
  onChange(tell: (isUnsettled: boolean) => Promise<unknown>): void
  /** Makes operations that may be retries wait while another thread of this process has unsettled operations. */
  setHeldElsewhere(isUnsettledElsewhere: boolean): void
}

/** Runs operations, each in its own transaction or in that of its batch. Resolves after the commit. */
export interface Driver {
  readonly name: 'sqlite' | 'postgres'
  readonly stats: LaneStats
  /** Connections by state, if the driver has a pool. */
  connections?(): Record<'open' | 'idle' | 'waiting', number>
  /** Whether the database answered within the last seconds and can commit writes (store/health.ts). */
  isHealthy(): boolean
  /** How many instances share the database, this one included. */
  instances(): number
  /** Why this version does not work with the database, in a sentence. Undefined when it does. SQLite is locked while a server runs. */
  unsupported?(): string | undefined
  /** The settings in which the instances on the database differ, which they must not. */
  differing?(): readonly SharedSetting[]
  /** When this process noticed that the database is in an earlier state than before, in epoch seconds. */
  wentBackAt?(): number | undefined
  call(op: OpName, input: unknown, onBatch?: BatchListener): Promise<unknown>
  /** Registers a listener for writes, or possible writes, of other processes: it receives what must be invalidated, or undefined for everything. */
  onForeignWrite(listener: (about?: Invalidation) => void): void
  /** Only for drivers where the outcome of an operation can be unknown. */
  readonly unsettled?: UnsettledHere
  close(): Promise<void>
}

/** Runs an operation, and records its audit event in the same transaction if it changed something. */
type Recorded = <K extends RecordedOp>(op: K, input: InputOf<K>, event: AuditEvent) => Promise<ResultOf<K>>

export interface Store extends Operations {
  readonly driver: Driver
  readonly recorded: Recorded
  readonly caches: StoreCaches
  /** Drops every cache entry. */
  dropCaches(): void
  /** Drops the cache entries that a write of another thread of this process changed. */
  forget(op: OpName, input: unknown): void
  /** Registers a listener for writes that other threads may have cached. The caller of a write is answered after the listener has resolved. */
  onWrite(wrote: Wrote): void
}

/** Adds the operations, the caches and the metrics of every call to a driver. */
export function createStore(driver: Driver, metrics: Metrics): Store {
  const call = async (op: OpName, input: unknown): Promise<unknown> => {
    const startedMs = performance.now()
    const trace = activeTrace()
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
  const { operations, caches, dropCaches, forget, invalidate } = cached(names, call, (op, input) => wrote(op, input))
  driver.onForeignWrite(invalidate)
  return {
    ...operations,
    driver,
    recorded: (op, input, event) => operations.recordChange({ op, input, event }) as Promise<ResultOf<typeof op>>,
    caches,
    dropCaches,
    forget,
    onWrite: (tell) => {
      wrote = tell
    },
  }
}
