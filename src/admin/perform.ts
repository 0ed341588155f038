// Runs an admin operation: parses the input, runs it, writes the audit event, counts. REST and the command line share it.
import { z } from 'zod'
import type { App } from '../context.ts'
import { clip } from '../lib/bounded.ts'
import { issuesOf } from '../lib/field.ts'
import { audit, newAuditEvent } from '../oauth/audit.ts'
import { isLone } from '../oauth/lone_events.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { OnProgress } from '../records/job.ts'
import { eventsOfChange } from '../store/recorded.ts'
import { notStale, retryStale } from '../store/stale.ts'
import { type Action, type ActionResult, type Caller, type Change, paramNames, type Recorder } from './action.ts'
import { badInput } from './outcome.ts'

export interface RawInput {
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, unknown>>
  body?: Readonly<Record<string, unknown>>
}
const NO_QUERY = z.strictObject({})
/** Maximum length of a path parameter. */
export const maxParam = (name: string): number => (name === 'client_id' ? 2048 : 256)

/** Runs an operation. Returns the answer and whether it was a dry run. Throws invalid_request that names every problem, and the errors of `run`. */
export async function perform(
  app: App,
  action: Action,
  raw: RawInput,
  caller: Caller,
  onProgress: OnProgress = () => {},
): Promise<Omit<ActionResult, 'noted'>> {
  let isChanged = false
  const { via } = caller
  const entryOf = ({ client_id, detail }: Change) => ({
    ...caller,
    client_id,
    detail: via === undefined ? detail : { ...detail, via },
  })
  const event = (change: Change): AuditEvent => {
    if (!action.audit) throw new Error(`${action.method} ${action.path} declares no audit event`)
    return newAuditEvent(app, { ...entryOf(change), action: action.audit }, change.event_id)
  }
  const record: Recorder['record'] = async (op, input, change) => {
    const recorded = event(change)
    const result = await app.store.recorded(op, input, recorded)
    isChanged ||= eventsOfChange(op, result, recorded).length > 0
    return notStale(result)
  }
  const input = readInput(action, raw)
  const result = await retryStale(() => action.run(app, input, { ...caller, event, record, onProgress }))
  const { noted, ...rest } = result ?? {}
  if ((isChanged || noted) && action.count) app.metrics.count(...action.count)
  if (noted && action.audit) {
    if (!isLone(action.audit)) throw new Error(`${action.audit} must be recorded with its change`)
    await audit(app, { ...entryOf(noted), action: action.audit }, noted.event_id)
  }
  return rest
}

function readInput(action: Action, raw: RawInput): Parameters<Action['run']>[1] {
  const problems: string[] = []
  const errors: ItemError[] = []
  for (const name of paramNames(action.path)) {
    const max = maxParam(name)
    const { length } = raw.params[name] ?? ''
    if (length === 0 || length > max) problems.push(`${name} must have 1 to ${max} characters`)
  }
  const read = (schema: z.ZodType | undefined, value: unknown, whole: string): unknown => {
    const result = schema?.safeParse(value)
    if (!result?.error) return result?.data
    const issues = issuesOf(result.error)
    problems.push(...issues.map(({ path, message }) => `${path || whole} ${message}`))
    errors.push(...issues.flatMap((issue) => itemErrors(action, issue)))
  }
  for (const [name, value] of Object.entries(raw.query)) if (value === '') problems.push(`${name} must not be empty`)
  const query = read(action.query ?? NO_QUERY, raw.query, 'the query')
  const body = read(action.body, raw.body ?? {}, 'the body')
  if (problems.length > 0) throw badInput(problems, errors.length > 0 ? { errors } : undefined)
  return { params: { ...raw.params }, query, body }
}

/** A mistake in one item of a list. */
interface ItemError {
  index: number
  message: string
}
const MAX_MESSAGE = 200
/** The mistake of the item that the path of an issue names: `users[3].email`. */
function itemErrors({ items }: Action, { path, message }: { path: string; message: string }): ItemError[] {
  const [, list, index, member] = /^(\w+)\[(\d+)\]\.?(.*)$/.exec(path) ?? []
  if (items === undefined || list !== items) return []
  return [{ index: Number(index), message: clip(`${member} ${message}`.trimStart(), MAX_MESSAGE) }]
}
