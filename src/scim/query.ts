// The query of a list or of one resource, and the answer to a list: paging, and the attributes that are shown (RFC 7644 §3.4.2.4, §3.9).
import { parseParams, type Reply, type Request } from '../http/message.ts'
import { isObject } from '../lib/json.ts'
import { queryOfFilter } from './filter.ts'
import { listReply } from './message.ts'

/** Maximum number of resources in an answer. */
export const MAX_COUNT = 200
const MAX_INDEX = 1_000_000_000

/** Answers a list: what fits a filter of these members, page by page. Numbers that are out of range are brought into it, as the RFC says. */
export async function answerList<M extends string>(
  request: Request,
  filters: Readonly<Record<string, M>>,
  read: (
    page: Partial<Record<M, string>> & { limit: number; offset: number },
    shown: Shown,
  ) => Promise<{ total: number; items: readonly object[] }>,
): Promise<Reply> {
  const params = scimParams(request)
  const { filter: text } = params
  const filter: ReturnType<typeof queryOfFilter<M>> = text === undefined ? {} : queryOfFilter(text, filters)
  const start = within(numberOf(params['startIndex'], 1), 1, MAX_INDEX)
  const limit = within(numberOf(params['count'], MAX_COUNT), 0, MAX_COUNT)
  if (filter === 'nothing') return listReply(0, start, [])
  const { total, items } = await read({ ...filter, limit, offset: start - 1 }, shownBy(params))
  return listReply(total, start, items)
}
const within = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max)
const numberOf = (text: string | undefined, fallback: number): number =>
  text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : fallback

/** Parameters of the query, by their names in the RFC; names are accepted in any case. */
export function scimParams(request: Request): ReturnType<typeof parseParams> {
  const names = ['filter', 'startIndex', 'count', 'attributes', 'excludedAttributes']
  const given = Object.entries(parseParams(request.query))
  return Object.fromEntries(
    given.map(([name, value]) => [names.find((each) => each.toLowerCase() === name.toLowerCase()) ?? name, value]),
  )
}

/** Whether an attribute is shown, and the resource without what is not. id, schemas and meta.location are always shown. */
export interface Shown {
  has(name: string): boolean
  of(resource: Readonly<Record<string, unknown>>): Record<string, unknown>
}

const listOf = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((each) =>
      each
        .trim()
        .replace(/^urn:[\w.:-]+:(?=[^:]+$)/, '')
        .toLowerCase(),
    )
    .filter(Boolean)

/** What the parameters `attributes` and `excludedAttributes` show. */
export function shownBy({ attributes, excludedAttributes }: ReturnType<typeof parseParams>): Shown {
  const [wanted, hidden] = [listOf(attributes), listOf(excludedAttributes) ?? []]
  const isAlways = (name: string) => name === 'id' || name === 'schemas'
  const has = (name: string): boolean => {
    const key = name.toLowerCase()
    if (isAlways(key)) return true
    return wanted ? wanted.some((each) => each === key || each.startsWith(`${key}.`)) : !hidden.includes(key)
  }
  const partOf = (name: string, value: unknown): unknown => {
    const key = name.toLowerCase()
    const subsIn = (names: readonly string[]) =>
      names.filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1))
    const [subs, gone] = [subsIn(wanted ?? []), wanted ? [] : subsIn(hidden)]
    const isWhole = wanted?.includes(key) || subs.length === 0
    if (isAlways(key) || (isWhole && gone.length === 0)) return value
    const pick = (object: unknown) =>
      isObject(object)
        ? Object.fromEntries(
            Object.entries(object).filter(([sub]) =>
              isWhole ? !gone.includes(sub.toLowerCase()) : subs.includes(sub.toLowerCase()),
            ),
          )
        : object
    return Array.isArray(value) ? value.map(pick) : pick(value)
  }
  return {
    has,
    of: (resource) =>
      Object.fromEntries(
        Object.entries(resource).flatMap(([name, value]) =>
          has(name) && value !== undefined ? [[name, partOf(name, value)]] : [],
        ),
      ),
  }
}
