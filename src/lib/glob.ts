// Patterns of text in which `*` stands for at least one character. Nothing else is special, and no regular expression is built.

/** Whether a text matches a pattern as a whole, in one pass over both. `*.example.net` never means `.example.net`. */
export function glob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === text
  if (!text.startsWith(head)) return false
  let at = head.length
  for (const [i, part] of rest.entries()) {
    const from = at + 1
    const found = i === rest.length - 1 ? text.length - part.length : text.indexOf(part, from)
    if (found < from || !text.startsWith(part, found)) return false
    at = found + part.length
  }
  return at === text.length
}

/** The parts of a text with the separators `/` and `:` between them. */
const withSeparators = (text: string): string[] => text.split(/([/:])/)

/** The same for texts of parts that end at `/` or `:`, as subjects of workload tokens have: `*` stays within one part. */
export function globParts(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text
  const [wanted, given] = [withSeparators(pattern), withSeparators(text)]
  return wanted.length === given.length && wanted.every((part, i) => glob(part, given[i] as string))
}
