// Field types for all input from outside: configuration, admin API, client registration.
import { z } from 'zod'
import { contrast, isColor } from './color.ts'
import { commaParts } from './csv.ts'
import { hostRule } from './host_rule.ts'
import { useIssueTexts } from './issue_text.ts'
import { DAY, DURATION_PATTERN, formatDuration, parseDuration, parseTime } from './time.ts'
import { isAbsoluteUri, isHttpUrl, normalisedUrl, parseHttpUrl } from './url.ts'

useIssueTexts()

/** Text without control characters, which stored text must not contain. */
const PLAIN = /^[^\u0000-\u001f\u007f]*$/
const NOT_PLAIN = 'must be one line of plain text'

/** One line of text without control characters or lone surrogates. */
export const text = (max = 255) =>
  z
    .string()
    .max(max, { abort: true })
    .regex(PLAIN, { error: NOT_PLAIN, abort: true })
    .refine((value) => value.isWellFormed(), NOT_PLAIN)

/** Maximum bytes of an indexed text, alone or beside ids: PostgreSQL allows about 2,700 in one index row. */
const MAX_INDEXED = 2048
/** Whether one or several texts fit into one index row. Characters beyond ASCII take up to four bytes. */
export const fitsIndex = (...parts: readonly string[]): boolean =>
  parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0) <= MAX_INDEXED
const TOO_LONG = `must have at most ${MAX_INDEXED} bytes`

/** One line of text that is indexed. */
const indexed = () => text(MAX_INDEXED).refine((value) => fitsIndex(value), TOO_LONG)

/** Invisible characters: white space, the default-ignorable characters of Unicode, and the empty Braille pattern. */
const INVISIBLE = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Whether a text has no visible character. */
export const isBlank = (value: string): boolean => value.replace(INVISIBLE, '') === ''
/** One line with a character that is not white space. JSON Schema has no class for the other invisible characters. */
const NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$'
const TRIMMED_PATTERN = '^[^\\s\\u0000-\\u001f\\u007f]([^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f])?$'
/** Text with at least one visible character. */
export const name = (max = 255) =>
  text(max)
    .refine((value) => !isBlank(value), 'must not be blank')
    .meta({ minLength: 1, pattern: NAME_PATTERN })

/** The name of a group of users. Names are compared exactly, so that it must not have a space that cannot be seen. */
export const groupName = () =>
  name()
    .refine((value) => value === value.trim(), 'must not begin or end with a space')
    .meta({ pattern: TRIMMED_PATTERN })

/** true, false, 1 or 0, as YAML value or as text. */
export const bool = () =>
  z.preprocess(
    (value) =>
      value === 'true' || value === '1' || value === 1
        ? true
        : value === 'false' || value === '0' || value === 0
          ? false
          : value,
    z.boolean('must be true, false, 1 or 0'),
  )

/** true or false, as value of JSON or YAML. */
export const jsonBool = () => z.boolean('must be true or false')

/** A number for its text; other values stay. */
export const numberOf = (value: unknown) =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value

/** An integer within bounds, as value of JSON or YAML. */
export const jsonInt = (min: number, max: number) =>
  z.int('must be a whole number').min(min, `must be at least ${min}`).max(max, `must be at most ${max}`)

/** An integer within bounds, also as text. */
export const int = (min: number, max: number) => z.preprocess(numberOf, jsonInt(min, max))

/** A number within bounds, as value of JSON or YAML. */
export const jsonFloat = (min: number, max: number) =>
  z.number('must be a number').min(min, `must be at least ${min}`).max(max, `must be at most ${max}`)

/** A number within bounds, also as text. */
export const float = (min: number, max: number) => z.preprocess(numberOf, jsonFloat(min, max))

/** Seconds, written as a Go duration string such as `10s` or `1h30m`. */
export const duration = (min = 0, max = 10 * 365 * DAY) =>
  z
    .string('must be a duration such as 10s, 5m or 1h')
    .meta({ pattern: DURATION_PATTERN, examples: ['10s', '5m', '1h'] })
    .transform((value, context) => {
      const seconds = parseDuration(value)
      if (seconds === undefined) context.addIssue('must be a duration such as 10s, 5m or 1h')
      else if (seconds < min) context.addIssue(`must be at least ${formatDuration(min)}`)
      else if (seconds > max) context.addIssue(`must be at most ${formatDuration(max)}`)
      return seconds ?? 0
    })

/** Epoch seconds, written as an RFC 3339 time. */
export const time = () =>
  z
    .string('must be an RFC 3339 time')
    .meta({ format: 'date-time' })
    .transform((value, context) => {
      const seconds = parseTime(value)
      if (seconds === undefined) context.addIssue('must be an RFC 3339 time such as 2026-03-01T10:00:00Z')
      return seconds ?? 0
    })

/** One of several words. */
export const word = <const W extends readonly [string, ...string[]]>(words: W) =>
  z.enum(words, `must be one of ${words.join(', ')}`)

interface ListRule {
  max: number
  /** At least one. */
  filled?: boolean
}
/** A list of at most `max` items. A longer list is refused before its items are validated. */
export const listOf = <T extends z.ZodType>(item: T, { max, filled = false }: ListRule) => {
  const most = `must have at most ${max} entries`
  const items = z.array(item, 'must be a list').max(max, most)
  return z.preprocess(
    (value, context) => {
      if (Array.isArray(value) && value.length > max) context.addIssue(most)
      return value
    },
    filled ? items.min(1, 'must not be empty') : items,
  )
}

/** Maximum number of groups of one user, and of one rule. */
export const MAX_GROUPS = 1000
/** A list of at most `MAX_GROUPS` names, not a text with commas: sorted, each once. */
export const nameList = <T extends z.ZodType<string>>(item: T) =>
  listOf(item, { max: MAX_GROUPS }).transform((names) => [...new Set(names as z.output<T>[])].sort())
/** Names of groups. */
export const groupNames = () => nameList(groupName())

/** The domain of an email, in lower case. */
export const emailDomain = () =>
  z
    .string()
    .max(253)
    .meta({ format: 'idn-hostname', minLength: 1 })
    .transform((value) => value.toLowerCase())
    .refine(
      (value) => /^[\p{L}\p{N}]([\p{L}\p{M}\p{N}.-]*[\p{L}\p{M}\p{N}])?$/u.test(value),
      'must be a domain such as example.com',
    )

const MAX_TEXTS = 1000
/** A list of texts; one text is split on commas, as in environment variables. */
export const list = (item: z.ZodType<string> = text(2048)) =>
  z.preprocess((value) => (typeof value === 'string' ? commaParts(value) : value), listOf(item, { max: MAX_TEXTS }))

/** A host in a private network: a name (its first label may be `*`), an address or a CIDR range. */
export const hostInList = () =>
  text(300).transform((value, context) => {
    const rule = hostRule(value)
    if (rule === undefined)
      context.addIssue('must be a host name (its first label may be *), an address or a CIDR range, without a port')
    return rule ?? ''
  }) as unknown as z.ZodType<string>

/** A list of texts without duplicates. One text with commas is not a list. */
export const distinct = (item: z.ZodType<string> = text(2048), filled = false) =>
  // Without nonoptional() the transformation would make the member optional in JSON Schema.
  z.nonoptional(listOf(item, { max: MAX_TEXTS, filled })).transform((items) => [...new Set(items as string[])])

/** An absolute http or https URL. */
export const url = () => indexed().refine(isHttpUrl, 'must be a well-formed http or https URL').meta({ format: 'uri' })

/** An absolute URI without fragment, as the URI of a resource (RFC 8707 §2): http(s), or any other scheme. */
export const resourceUri = () =>
  indexed()
    .refine(
      (value) => (/^https?:/i.test(value) ? isHttpUrl(value) : isAbsoluteUri(value)),
      'must be a well-formed absolute URI, such as https://…, kafka://… or urn:…',
    )
    .refine((uri) => !uri.includes('#'), 'must have no fragment')
    .refine((uri) => !/^[^:]+:\/\/[^/?]*@/.test(uri), 'must have no user and no password: the URI is public')
    .meta({ format: 'uri' })

/** A URL without fragment, user and password. */
export const endpoint = () =>
  url().refine((value) => {
    const parsed = parseHttpUrl(value)
    return !value.includes('#') && !parsed?.username && !parsed?.password
  }, 'must have no fragment, user or password')

/** A link for people: https without user and password, or mailto with an address. */
export const linkUrl = () =>
  indexed().refine(
    (value) =>
      /^mailto:[^\s@]+@[^\s@]+$/i.test(value) || (/^https:/i.test(value) && normalisedUrl(value) !== undefined),
    'must be a well-formed https or mailto URL',
  )

/** The minimum contrast of text (WCAG 2.2 §1.4.3). */
const MIN_CONTRAST = 4.5
/** A color that can be read on each of the colors `against`; with `optional` also an empty text. */
export const readableColor = (against: readonly string[], optional: boolean) =>
  z.string('must be a color such as #2456d3').superRefine((value, context) => {
    if (optional && value === '') return
    if (!isColor(value)) return context.addIssue('must be a color such as #2456d3: # and six hex digits, in quotes')
    const [worst = value] = against.toSorted((a, b) => contrast(value, a) - contrast(value, b))
    const ratio = contrast(value, worst)
    if (ratio < MIN_CONTRAST)
      context.addIssue(
        `must have a contrast of at least ${MIN_CONTRAST}:1 with ${worst}, so that links and buttons can be read; ${value} has ${ratio.toFixed(2)}:1`,
      )
  })

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const SCOPE_TEXT = '^[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*$'
/** One scope name (RFC 6749 §3.3). */
export const scopeName = () =>
  z.string().max(255).regex(SCOPE_TOKEN, 'must be a scope name: printable ASCII without space, quote or backslash')

/** Space-separated scope names; repeated ones are dropped. */
export const scope = () =>
  z
    .string()
    .max(8192)
    .meta({ pattern: SCOPE_TEXT, examples: ['mcp:read mcp:write'] })
    .transform((value) => [...new Set(value.split(' ').filter(Boolean))])
    .refine((names) => names.every((each) => SCOPE_TOKEN.test(each)), 'must be space-separated scope names')
    .transform((names) => names.join(' '))

/** The form of a slug. */
export const SLUG = /^[a-z0-9][a-z0-9-]{0,63}$/
/** A public identifier for URLs and commands. Capitals become small letters. */
export const slug = () =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? value.toLowerCase() : value),
      z.string('is required').regex(SLUG, 'must be 1 to 64 of a-z, 0-9 and -, starting with a letter or digit'),
    )
    .meta({ pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$' })

/** Every problem that a schema found, as readable text. The path is empty for a problem of the whole input. */
export function issuesOf(error: z.ZodError): { path: string; message: string }[] {
  return error.issues.map((issue) => ({ path: pathOf(issue.path), message: issue.message }))
}

const pathOf = (path: PropertyKey[]): string =>
  path.reduce<string>(
    (all, part) => (typeof part === 'number' ? `${all}[${part}]` : all ? `${all}.${String(part)}` : String(part)),
    '',
  )
