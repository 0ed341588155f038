// A call of a tool: its arguments become the input of the admin operation, the answer or the refusal becomes a result of at most 25 KB.
import { z } from 'zod'
import type { Action } from '../admin/action.ts'
import { own } from '../admin/answers/own_words.ts'
import { actionNamed } from '../admin/index.ts'
import { badInput, invalid } from '../admin/outcome.ts'
import type { RawInput } from '../admin/perform.ts'
import type { OAuthError } from '../lib/error.ts'
import { explainReasons } from './reasons.ts'
import { fittingShare, present } from './result.ts'
import { type ObjectSchema, wordSchema } from './schema.ts'
import type { Tool } from './tools.ts'

/** Performs an operation for a tool. Only the one that is counted and does the work has the name of the tool. */
export type Send = (
  action: Action,
  input: RawInput,
  tool?: string,
  onStop?: (after: string) => void,
) => Promise<unknown>

type Args = Readonly<Record<string, unknown>>
type Rows = readonly Record<string, unknown>[]

const revocation = actionNamed('revocation', 'create')
/** Rows that are read for one page: more do not fit. */
const MOST_ROWS = 200
const DEFAULT_ROWS = 50

/** Calls a tool. Returns the structured result. Throws OAuthError when the arguments are wrong or the operation is refused. */
export async function callTool(tool: Tool, args: Args, send: Send): Promise<Record<string, unknown>> {
  checkArguments(tool, args)
  const { rule, action, look, name, item, words } = tool
  const whole = (answer: unknown, more: object = {}) =>
    present({ ...(answer as object), ...more, ...reasonsOf(tool, answer) }, words)
  const result = rule.rows !== undefined ? await page(tool, args, send) : undefined
  if (result) return result
  if (!rule.destructive) return whole(await send(action, inputOf(tool, args), name))
  const dry_run = args['dry_run'] !== false
  const input = inputOf(tool, args)
  if (!look) return whole(await send(action, { ...input, body: { ...input.body, dry_run } }, name), { dry_run })
  const shown = await send(look, { params: input.params, query: {} }, dry_run ? name : undefined)
  const live = await countLive(tool, shown as Record<string, unknown>, send)
  const done = dry_run ? undefined : await send(action, input, name)
  return whole({ dry_run, [item]: shown, ...live, ...(done === undefined ? {} : { result: done }) })
}

/** What the reasons in an answer mean, for a tool whose results have some. */
function reasonsOf({ rule }: Tool, answer: unknown): object {
  const reasons = rule.reasons ? explainReasons(answer as object) : []
  return reasons.length > 0 ? { reasons } : {}
}

/** What an item has that still works: its live tokens and sign-ins. An operation that needs `force` for them refuses without it. */
async function countLive({ rule: { counts } }: Tool, shown: Record<string, unknown>, send: Send): Promise<object> {
  const value = counts && shown[counts[1]]
  if (typeof value !== 'string' || value === '') return {}
  const body = { [counts?.[0] ?? '']: value, dry_run: true }
  const { tokens, families } = (await send(revocation, { params: {}, query: {}, body })) as Record<string, unknown>
  return { live: { tokens, sign_ins: families } }
}

function checkArguments({ args: declared, listed: { inputSchema } }: Tool, args: Args): void {
  const { properties, required = [] } = inputSchema
  const problems = [
    ...Object.keys(args).flatMap((name) =>
      Object.hasOwn(properties, name) ? [] : [`${name.slice(0, 100)} is no argument of this tool`],
    ),
    ...required.flatMap((name) => (args[name] === undefined ? [`${name} is required`] : [])),
    ...Object.entries(args).flatMap(([name, value]) => {
      const isBody = declared.get(name)?.part === 'body'
      if (isBody || !Object.hasOwn(properties, name) || isPlain(value)) return []
      return [`${name} must be a text, a number or a boolean`]
    }),
  ]
  const { dry_run } = args
  if (dry_run !== undefined && typeof dry_run !== 'boolean') problems.push('dry_run must be true or false')
  if (problems.length > 0) throw badInput(problems)
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

/** The input as REST gets it: everything but the members of the body is text. */
function inputOf({ args: declared, action }: Tool, args: Args): RawInput {
  const parts = {
    params: {} as Record<string, string>,
    query: {} as Record<string, string>,
    body: {} as Record<string, unknown>,
  }
  for (const [name, { part, field }] of declared) {
    const value = args[name]
    if (value === undefined) continue
    if (part === 'body') parts.body[field] = value
    else parts[part][field] = String(value)
  }
  return action.body ? parts : { params: parts.params, query: parts.query }
}

interface Place {
  after?: string
  skip?: number
}

/** A page of a list: as many rows as fit. */
async function page(tool: Tool, args: Args, send: Send): Promise<Record<string, unknown>> {
  const { rule, action, name, listed, words } = tool
  const { limit: limitSchema } = listed.inputSchema.properties
  const { after: hasAfter } = (action.query as { shape?: Record<string, unknown> } | undefined)?.shape ?? {}
  const { after, skip = 0 } = args['cursor'] === undefined ? ({} as Place) : placeOf(args['cursor'])
  const wish = wishOf(args['limit'], limitSchema?.maximum)
  const most = Math.min(wish ?? Number(limitSchema?.default ?? DEFAULT_ROWS), MOST_ROWS)
  const input = inputOf(tool, args)
  const query: Record<string, unknown> = { ...input.query }
  // One more row than is shown says whether there is a next page.
  if (limitSchema && (wish !== undefined || args['limit'] === undefined))
    query['limit'] = String(Math.min(most + 1 + skip, limitSchema.maximum ?? MOST_ROWS))
  if (after !== undefined) query['after'] = after
  let stopped: string | undefined
  const answer = await send(action, { ...input, query }, name, (at) => {
    stopped = at
  })
  const member = rule.rows as string
  const all = (Array.isArray(answer) ? answer : (answer as Record<string, unknown>)[member]) as Rows
  const others = Array.isArray(answer) ? {} : (answer as Record<string, unknown>)
  const rows = all.slice(skip, skip + most)
  const resultOf = (count: number) => {
    const shown = rows.slice(0, count)
    const isMore = skip + count < all.length
    const last = shown.at(-1)?.['id']
    const next = hasAfter && typeof last === 'string' ? { after: last } : { skip: skip + count }
    return {
      ...others,
      [member]: shown,
      ...('count' in others ? { count } : {}),
      ...(isMore && count > 0 ? { next_cursor: cursorOf(next) } : {}),
      // The search read as many rows as it may, with or without matches.
      ...(!isMore && stopped !== undefined ? { next_cursor: cursorOf({ after: stopped }) } : {}),
      ...reasonsOf(tool, { ...others, [member]: shown }),
    }
  }
  let count = rows.length
  for (let share = 0; count > 1 && share < 1; ) {
    share = fittingShare(resultOf(count), words)
    if (share < 1) count = Math.max(1, Math.floor(count * Math.min(0.9, share)))
  }
  return present(resultOf(count), words)
}

/** The wished number of rows, or undefined where the operation refuses it. */
function wishOf(given: unknown, maximum = Number.POSITIVE_INFINITY): number | undefined {
  const count = Number(given)
  return given !== undefined && Number.isInteger(count) && count >= 1 && count <= maximum ? count : undefined
}

const cursorOf = (place: Place): string => Buffer.from(JSON.stringify(place)).toString('base64url')

function placeOf(cursor: unknown): Place {
  try {
    const { after, skip } = JSON.parse(Buffer.from(String(cursor), 'base64url').toString()) as Place
    if (typeof after === 'string' && after.length <= 2048) return { after }
    if (Number.isInteger(skip) && Number(skip) >= 0 && Number(skip) < 1_000_000) return { skip: Number(skip) }
  } catch {
    // Refused below.
  }
  throw invalid('cursor must be the next_cursor of the page before', 'bad_input')
}

const REFUSAL = wordSchema(
  z.strictObject({ error: own(), reason: own().optional(), error_description: z.string(), next: own() }),
) as ObjectSchema

/** What an agent reads of a refusal, in the form of a result: what is wrong, and what to do next. The description may repeat an argument. */
export function refusalOf({ code, message, more, status }: OAuthError): Record<string, unknown> {
  const reason = more.reason === undefined || more.reason === code ? {} : { reason: more.reason }
  return present({ error: code, ...reason, error_description: message, next: nextOf(status) }, REFUSAL)
}

function nextOf(status: number): string {
  if (status === 401)
    return 'Ask the operator for a valid key of the admin API: admin.api_key, or one of POST /admin/api-keys.'
  if (status === 403)
    return 'Ask the operator for a key or scope with more capability. Do not try other tools for the same change.'
  if (status === 404) return 'Call find with a name, an id or a part of it.'
  if (status === 400) return 'Correct the arguments that are named, and call the tool again.'
  if (status === 409) return 'Read what stands in the way, and ask the operator.'
  return 'Try again later, or call status.'
}
