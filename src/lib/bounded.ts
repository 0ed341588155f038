// Text from outside, bounded before it is repeated in a message or kept in memory.

/**
 * A copy that keeps nothing else alive. A string that was cut from a larger one (a query, a form, a document) refers to all of
 * it for as long as the string lives.
 */
export const ownCopy = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le')

const CUT = '...'

/** The text, or its beginning where it has more than `max` characters. */
export const clip = (text: string, max: number): string =>
  text.length <= max ? text : ownCopy(text.slice(0, max - CUT.length).toWellFormed()) + CUT

const MAX_QUOTE = 200
/** Names that a caller sent, as an error message repeats them. */
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
/** What is wrong with an input, as one text: at most ten problems, and how many more there are. */
export function listProblems(problems: readonly string[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS).map((each) => clip(each, MAX_PROBLEM))
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more problem${more === 1 ? '' : 's'}`] : [])].join('; ')
}
