// The text of a problem that a schema finds, where the field itself has none. It is sent to callers, so it must not be the text of the library.
import { z } from 'zod'
import { quoteNames } from './bounded.ts'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}
const UNITS: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'entries',
  set: 'entries',
  map: 'entries',
}

/** The limit of a length or of a number: `must have at most 5 characters`, `must be at least 1`. */
function limitText(bound: 'at most' | 'at least', origin: string, limit: number | bigint, exact = false): string {
  const unit = UNITS[origin]
  if (unit && bound === 'at least' && limit === 1 && !exact) return 'must not be empty'
  return `must ${unit ? 'have' : 'be'} ${exact ? 'exactly' : bound} ${limit}${unit ? ` ${unit}` : ''}`
}

function textOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${TYPES[issue.expected] ?? `of type ${issue.expected}`}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
    case 'too_big':
      return limitText('at most', issue.origin, issue.maximum, issue.exact)
    case 'too_small':
      return limitText('at least', issue.origin, issue.minimum, issue.exact)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `has unknown members: ${quoteNames(issue.keys, ', ')}`
    default:
      return 'does not have an allowed form'
  }
}

/** Makes the schemas of this process report problems in these words. */
export const useIssueTexts = (): void => {
  z.config({ localeError: textOf })
}
