// Reads a file of users: one JSON object on each line (NDJSON), or CSV with a header. The command line and the admin page use it.
import { type CsvRecord, commaParts, readCsv } from '../lib/csv.ts'
import { comparableEmail } from '../lib/email.ts'

/** One user of the file, not yet validated. */
export interface UserLine {
  /** The line on which it begins, from 1. */
  line: number
  user: Record<string, unknown>
}
interface UserFile {
  lines: UserLine[]
  /** The mistakes of the file, each with its line. */
  faults: string[]
}

/** Reads the users of a text. A text that begins with `{` is NDJSON, any other text is CSV, whose columns are among `members`. */
export function readUsers(text: string, members: readonly string[]): UserFile {
  const content = text.replace(/^\ufeff/, '')
  const faults: string[] = []
  const lines = content.trimStart().startsWith('{') ? fromJsonLines(content, faults) : fromCsv(content, members, faults)
  return { lines: withoutDuplicates(lines, faults), faults }
}

function fromJsonLines(text: string, faults: string[]): UserLine[] {
  return text.split('\n').flatMap((source, i) => {
    if (source.trim() === '') return []
    const user = parseObject(source)
    if (!user) faults.push(`line ${i + 1}: must be a JSON object`)
    return user ? [{ line: i + 1, user }] : []
  })
}

function parseObject(source: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(source)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  return undefined
}

function fromCsv(text: string, members: readonly string[], faults: string[]): UserLine[] {
  const records = readCsv(text)
  const header: CsvRecord | undefined = records.next().value
  const names = header?.cells.map((name) => name.trim()) ?? []
  if (faults.push(...headerFaults(names, members)) > 0) return []
  const users: UserLine[] = []
  for (const { line, cells, fault } of records) {
    if (fault) faults.push(`line ${line}: ${fault}`)
    else if (cells.length !== names.length)
      faults.push(`line ${line}: has ${cells.length} fields, the header has ${names.length}`)
    else users.push({ line, user: Object.fromEntries(names.flatMap((name, i) => memberOf(name, cells[i] ?? ''))) })
  }
  return users
}

function headerFaults(names: readonly string[], members: readonly string[]): string[] {
  const wrong = names.filter((name, i) => !members.includes(name) || names.indexOf(name) !== i)
  if (names.includes('email') && wrong.length === 0) return []
  return [
    `line 1: the header must have email and may have ${members.filter((name) => name !== 'email').join(', ')}`,
    ...wrong.map((name) => `line 1: ${name || 'an empty name'} is not a column, or appears twice`),
  ]
}

/** An empty cell is an absent member. */
const memberOf = (name: string, cell: string): [string, unknown][] =>
  cell === '' ? [] : [[name, cellValue(name, cell)]]

function cellValue(name: string, cell: string): unknown {
  if (name === 'groups') return commaParts(cell)
  return name === 'email_verified' && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell
}

/** The first line of each email. The server compares only the users of one request. */
function withoutDuplicates(lines: readonly UserLine[], faults: string[]): UserLine[] {
  const places = new Map<string, number>()
  return lines.filter(({ line, user: { email } }) => {
    if (typeof email !== 'string') return true
    const address = comparableEmail(email)
    const first = places.get(address)
    if (first === undefined) places.set(address, line)
    else faults.push(`line ${line}: line ${first} has the same email`)
    return first === undefined
  })
}
