// Runs an admin operation: parses the input, runs it, writes the audit event, counts. REST and the command line share it.
import { z } from 'zod'
import type { App } from '../context.ts'
import { issuesOf } from '../lib/field.ts'
import { audit } from '../oauth/audit.ts'
import { type Action, type ActionResult, type Caller, paramNames } from './action.ts'
import { badInput } from './outcome.ts'

export interface RawInput {
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, unknown>>
  body?: Readonly<Record<string, unknown>>
}
const NO_QUERY = z.strictObject({})
const MAX_PARAM = 256
const MAX_CLIENT_ID = 2048

/** Runs an operation. Returns the answer and whether it was a dry run. Throws invalid_request that names every problem, and the errors of `run`. */
export async function perform(
  app: App,
  action: Action,
  raw: RawInput,
  caller: Caller,
): Promise<Omit<ActionResult, 'changed'>> {
  const { changed, ...rest } = await action.run(app, readInput(action, raw), caller)
  if (changed) {
    const { client_id, detail } = changed
    if (action.count) app.metrics.count(...action.count)
    if (action.audit) await audit(app, { action: action.audit, client_id, detail, ...caller })
  }
  return rest
}

function readInput(action: Action, raw: RawInput): Parameters<Action['run']>[1] {
  const problems: string[] = []
  for (const name of paramNames(action.path)) {
    const max = name === 'client_id' ? MAX_CLIENT_ID : MAX_PARAM
    const { length } = raw.params[name] ?? ''
    if (length === 0 || length > max) problems.push(`${name} must have 1 to ${max} characters`)
  }
  const read = (schema: z.ZodType | undefined, value: unknown, whole: string): unknown => {
    const result = schema?.safeParse(value)
    if (!result?.error) return result?.data
    problems.push(...issuesOf(result.error).map(({ path, message }) => `${path || whole} ${message}`))
  }
  const query = read(action.query ?? NO_QUERY, raw.query, 'the query')
  const body = read(action.body, raw.body ?? {}, 'the body')
  if (problems.length > 0) throw badInput(problems)
  return { params: { ...raw.params }, query, body }
}
