// Every store operation as a generator, and their types. A driver runs them.

import type { AuditEvent } from '../records/audit_event.ts'
import type { Op } from './op.ts'
import { type ADDITIONS, eventsOfChange, type Telling } from './recorded.ts'
import * as operations from './single_operations.ts'
import { recordAudits } from './tokens/audit_trail.ts'

/** A plain object: names are looked up faster in it than in a module. */
const single = { ...operations }

/** A change with its audit event. */
interface RecordedChange {
  op: keyof typeof single
  input: unknown
  event: AuditEvent
}
/** Runs an operation, and records its audit events in the same transaction if it changed something. Returns what the operation returns. */
function* recordChange({ op, input, event }: RecordedChange): Op<unknown> {
  const result = yield* (single[op] as (input: unknown) => Op<unknown>)(input)
  yield* recordAudits(eventsOfChange(op, result, event))
  return result
}

/** Every operation by name. */
export const ops = { ...single, recordChange }
/** An export that is not an operation does not compile here. */
type Operable<O extends Readonly<Record<string, (input: never) => Op<unknown>>>> = O
type Ops = Operable<typeof ops>
export type OpName = keyof Ops
export type InputOf<K extends OpName> = Parameters<Ops[K]>[0]
export type ResultOf<K extends OpName> = ReturnType<Ops[K]> extends Op<infer R> ? R : never

/** A row of ADDITIONS that does not fit the result of its operation does not compile here. */
type Fitting<A extends { [K in keyof A & OpName]: (result: ResultOf<K>, event: AuditEvent) => unknown }> = keyof A
/** An operation whose event can be recorded with it: its result says whether something changed. */
export type RecordedOp = {
  [K in OpName]: K extends Fitting<typeof ADDITIONS> ? K : ResultOf<K> extends Telling ? K : never
}[OpName]

export type Operations = {
  readonly [K in OpName]: Parameters<Ops[K]> extends []
    ? () => Promise<ResultOf<K>>
    : (input: InputOf<K>) => Promise<ResultOf<K>>
}

/** Operations that only read. Their names begin with one of these verbs. */
export const isRead = (op: string): boolean => /^(find|list|count|read)/.test(op)
