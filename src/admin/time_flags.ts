// Flags for the bounds of a period: a time, or how long ago it was.
import { parseDuration, parseTime, rfc3339, systemClock } from '../lib/time.ts'
import type { FlagRule } from './action.ts'
import { invalid } from './outcome.ts'

const FORMS = 'RFC 3339, or how long ago: 90s, 24h, 7d.'

const unreadable = (field: string, text: string) =>
  invalid(
    `--${field} ${text}: write a time such as 2026-03-01T10:00:00Z, or how long ago it was, such as 24h`,
    'bad_time',
  )

/** A flag for a field that takes a time. Throws invalid_request for a text that is neither a time nor a duration. */
export const timeFlag = (field: string, doc: string): FlagRule => ({
  field,
  doc: `${doc} ${FORMS}`,
  value: 'time',
  read(values) {
    const text = values.at(-1) ?? ''
    const seconds = parseDuration(text)
    if (seconds !== undefined) return rfc3339(systemClock.now() - Math.ceil(seconds))
    if (parseTime(text) === undefined) throw unreadable(field, text)
    return text
  },
})
/** The flags of both bounds. */
export const timeFlags = (since: string, until: string) => ({
  since: timeFlag('since', since),
  until: timeFlag('until', until),
})

/** The flags of an export. */
export const exportFlags = timeFlags('Start time. Default: no limit.', 'End time, exclusive.')

/** The flag for a field that takes the length of a period. */
export const periodFlag: FlagRule = {
  field: 'since',
  doc: `Start of the period, at most 30d ago. ${FORMS}`,
  value: 'time',
  read(values) {
    const text = values.at(-1) ?? ''
    const time = parseTime(text)
    if (time !== undefined) return `${Math.max(0, systemClock.now() - Math.floor(time))}s`
    if (parseDuration(text) === undefined) throw unreadable('since', text)
    return text
  },
}
