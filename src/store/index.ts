// The store: every operation as an asynchronous call. The type is derived from the operations; a driver runs them.
import type { BatchListener, LaneStats } from '../lib/lane.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Trace } from '../telemetry/trace.ts'
import { type CacheStats, cached, type News, type Wrote } from './cache.ts'
import * as clients from './clients.ts'
import * as connections from './connections.ts'
import * as consents from './consents.ts'
import { purgeWindow } from './expiry.ts'
import * as fronting from './fronting.ts'
import * as issuances from './issuances.ts'
import * as loginFailures from './login_failures.ts'
import type { Op } from './op.ts'
import { dropPartition, listExported, listPartitions, saveExported } from './partitions.ts'
import * as providers from './providers.ts'
import * as rateBuckets from './rate_buckets.ts'
import { findSuccessors, recordRetry } from './refresh_retries.ts'
import * as resources from './resources.ts'
import * as retention from './retention.ts'
import * as revocations from './revocations.ts'
import { listSealed, replaceSealed } from './sealed.ts'
import * as signingKeys from './signing_keys.ts'
import * as singleUses from './single_uses.ts'
import * as system from './system.ts'
import * as tokens from './tokens.ts'
import * as undo from './undo.ts'
import * as users from './users.ts'
import * as xaa from './xaa.ts'

/** Every operation, by its name. A file that exports nothing else is taken as a whole. */
export const ops = {
  ...clients,
  ...connections,
  ...consents,
  ...fronting,
  ...issuances,
  ...loginFailures,
  ...providers,
  ...rateBuckets,
  ...resources,
  ...retention,
  ...revocations,
  ...signingKeys,
  ...singleUses,
  ...system,
  ...tokens,
  findSuccessors,
  recordRetry,
  ...undo,
  ...users,
  ...xaa,
  dropPartition,
  listExported,
  listPartitions,
  listSealed,
  purgeWindow,
  replaceSealed,
  saveExported,
}
/** Whatever else a file exports does not compile here. */
type Operable<O extends Readonly<Record<string, (input: never) => Op<unknown>>>> = O
type Ops = Operable<typeof ops>
export type OpName = keyof Ops
export type InputOf<K extends OpName> = Parameters<Ops[K]>[0]
export type ResultOf<K extends OpName> = ReturnType<Ops[K]> extends Op<infer R> ? R : never

export type Operations = {
  readonly [K in OpName]: Parameters<Ops[K]> extends []
    ? () => Promise<ResultOf<K>>
    : (input: InputOf<K>) => Promise<ResultOf<K>>
}

/** Without an answer for this long a storage counts as away. */
export const UNHEALTHY_MS = 5000
/** Most operations that wait in a queue of a driver; the next one is refused. */
export const MAX_QUEUE = 4096

/** Operations of one thread that may have been committed although their callers were told to try again. */
export interface UnsettledHere {
  /** Whom to tell when there are some, and when there are none any more: callers are answered when it has been told. */
  onChange(tell: (isUnsettled: boolean) => Promise<unknown>): void
  /** Has operations wait, as long as another thread of this process has some, that may be repetitions of these. */
  hold(isUnsettledElsewhere: boolean): void
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
  onForeignWrite(listener: (about?: News) => void): void
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

/** Operations that only read, by the verbs of their names. */
export const isRead = (op: string): boolean => /^(find|list|count|read)/.test(op)

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
