// The query of a list or of one resource: paging, and the attributes that are shown (RFC 7644 §3.4.2.4, §3.9).
import { parseParams, type Request } from '../http/message.ts'
import { isObject } from '../lib/json.ts'

/** Maximum number of resources in an answer. */
export const MAX_COUNT = 200
const MAX_INDEX = 1_000_000_000

/** The page of a list. Numbers that are out of range are brought into it, as the RFC says. */
export function pageOf({ startIndex, count }: ReturnType<typeof parseParams>): { start: number; limit: number } {
  return {
    start: within(numberOf(startIndex, 1), 1, MAX_INDEX),
    limit: within(numberOf(count, MAX_COUNT), 0, MAX_COUNT),
  }
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
    const subs = wanted?.filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1)) ?? []
    const gone = wanted
      ? []
      : hidden.filter((each) => each.startsWith(`${key}.`)).map((each) => each.slice(key.length + 1))
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
