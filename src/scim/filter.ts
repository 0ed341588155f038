// Filters (RFC 7644 §3.4.2.2): comparisons with eq, joined by and. Everything else is refused. The section about SCIM in docs/dependencies.md
// says why no library is used.
import { refusal } from './message.ts'

/** The path of an attribute: of a list also its value filter, and a sub-attribute. Names are in lower case. */
export interface AttributePath {
  /** Empty for an attribute of another schema. */
  name: string
  where?: readonly FilterTerm[]
  sub?: string
}
export interface FilterTerm {
  path: AttributePath
  value: string | boolean
}

const MAX_TEXT = 4096
const MAX_COMPARISONS = 10
const PATH = /^(urn:[\w.:-]+:)?([A-Za-z$][\w$-]*)(?:\[([^\]]*)\])?(?:\.([A-Za-z$][\w$-]*))?$/
const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(user|group):$/i

/** Parses the path of an attribute. Undefined when it is malformed. */
export function parsePath(text: string): AttributePath | undefined {
  if (text.length > MAX_TEXT) return undefined
  const [match, urn, name = '', condition, sub] = PATH.exec(text) ?? []
  if (match === undefined) return undefined
  const where = condition === undefined ? undefined : parseComparisons(condition)
  if (condition !== undefined && !where) return undefined
  const isOther = urn !== undefined && !CORE.test(urn)
  return {
    name: isOther ? '' : name.toLowerCase(),
    ...(where ? { where } : {}),
    ...(sub ? { sub: sub.toLowerCase() } : {}),
  }
}

const COMPARISON =
  /\s*((?:urn:[\w.:-]+:)?[A-Za-z$][\w$-]*(?:\[[^\]]*\])?(?:\.[A-Za-z$][\w$-]*)?)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)(\s+and\s+(?=\S)|\s*$)/iy

/** Parses a filter. Undefined when it is anything but comparisons. */
function parseComparisons(text: string): FilterTerm[] | undefined {
  const found: FilterTerm[] = []
  COMPARISON.lastIndex = 0
  for (;;) {
    const match = text.length <= MAX_TEXT ? COMPARISON.exec(text) : null
    const at = COMPARISON.lastIndex
    const comparison = match && comparisonOf(match)
    if (!comparison || found.push(comparison) > MAX_COMPARISONS) return undefined
    if (at === text.length) return /and\s+$/i.test(match[3] ?? '') ? undefined : found
    COMPARISON.lastIndex = at
  }
}

function comparisonOf([, attribute = '', value = '']: RegExpExecArray): FilterTerm | undefined {
  const path = parsePath(attribute)
  if (!path) return undefined
  try {
    return { path, value: JSON.parse(value.startsWith('"') ? value : value.toLowerCase()) as string | boolean }
  } catch {
    return undefined
  }
}

/** The members of a query by the paths that may be filtered. Throws invalidFilter for any other path, and for two values of one path. */
export function queryOfFilter<M extends string>(
  filter: string,
  members: Readonly<Record<string, M>>,
): Partial<Record<M, string>> | 'nothing' {
  const comparisons = parseComparisons(filter)
  if (!comparisons) throw unusable('it must be comparisons with eq, joined by and')
  const query: Partial<Record<M, string>> = {}
  for (const { path, value } of comparisons) {
    const name = nameOfPath(path)
    // `constructor` is a member of every object.
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    if (member === undefined || typeof value !== 'string')
      throw unusable(`it may compare ${Object.keys(members).join(', ')} with texts`)
    if (query[member] !== undefined && query[member] !== value) return 'nothing'
    query[member] = value
  }
  return query
}

/** `emails[type eq "work"].value` is taken as `emails.value`. */
const nameOfPath = ({ name, sub }: AttributePath): string => (sub === undefined ? name : `${name}.${sub}`)
const unusable = (why: string) => refusal('invalidFilter', `the filter cannot be used: ${why}`)
