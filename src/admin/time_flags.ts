// Flags for the bounds of a period: a time, or how long ago it was.
import { parseDuration, parseTime, rfc3339, systemClock } from '../lib/time.ts'
import type { FlagRule } from './action.ts'

const FORMS = 'RFC 3339, or how long ago: 90s, 24h, 7d.'

/** A flag for a field that takes a time. Other texts stay, for the message of the operation. */
export const timeFlag = (field: string, doc: string): FlagRule => ({
  field,
  doc: `${doc} ${FORMS}`,
  value: 'time',
  read(values) {
    const text = values.at(-1) ?? ''
    const seconds = parseDuration(text)
    return seconds === undefined ? text : rfc3339(systemClock.now() - Math.ceil(seconds))
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
    return time === undefined ? text : `${Math.max(0, systemClock.now() - Math.floor(time))}s`
  },
}
