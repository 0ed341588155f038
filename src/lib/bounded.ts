// Untrusted text, truncated before it is repeated in a message or stored in memory.

/**
 * A copy that does not retain its source. A substring of a larger string (a query, a form, a document) keeps the whole string in memory
 * as long as the substring lives.
 */
export const ownCopy = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')

const CUT = '...'

/** The text, truncated to `max` characters. */
export const clip = (text: string, max: number): string =>
  text.length <= max ? text : ownCopy(text.slice(0, max - CUT.length).toWellFormed()) + CUT

const MAX_QUOTE = 200
/** Names that a caller sent, truncated for an error message. */
export const quoteNames = (names: readonly string[], between = ' '): string => {
  let quoted = ''
  for (const name of names) {
    quoted += (quoted && between) + clip(name, MAX_QUOTE)
    if (quoted.length > MAX_QUOTE) break
  }
  return clip(quoted, MAX_QUOTE)
}

const MAX_PROBLEMS = 10
const MAX_PROBLEM = 200
/** The problems of an input as one text: at most ten, and the number of further problems. */
export function listProblems(problems: readonly string[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map((each) => clip(each, MAX_PROBLEM))
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more problem${more === 1 ? '' : 's'}`] : [])].join('; ')
}
