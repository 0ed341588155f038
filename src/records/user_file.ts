// Reads a file of users: one JSON object a line (NDJSON), or CSV with a header.
import { commaParts } from '../lib/field.ts'
import { type CsvRecord, readCsv } from './csv.ts'
import { UsageError } from './output.ts'

/** One user of the file, not yet validated. */
export interface UserLine {
  /** The line on which it begins, from 1. */
  line: number
  user: Record<string, unknown>
}

/** The users of a text, and its mistakes. A text that begins with `{` is NDJSON, any other text is CSV. Throws UsageError when the CSV header is wrong. */
export function readUsers(text: string, members: readonly string[], faults: string[]): UserLine[] {
  const content = text.replace(/^\ufeff/, '')
  return content.trimStart().startsWith('{') ? fromJsonLines(content, faults) : fromCsv(content, members, faults)
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
  const wrong = names.filter((name, i) => !members.includes(name) || names.indexOf(name) !== i)
  if (!names.includes('email') || wrong.length > 0)
    throw new UsageError(
      `line 1: the header must have email and may have ${members.filter((name) => name !== 'email').join(', ')}`,
      ...wrong.map((name) => `line 1: ${name || 'an empty name'} is not a column, or is there twice`),
    )
  const users: UserLine[] = []
  for (const { line, cells, fault } of records) {
    if (fault) faults.push(`line ${line}: ${fault}`)
    else if (cells.length !== names.length)
      faults.push(`line ${line}: has ${cells.length} fields, the header has ${names.length}`)
    else users.push({ line, user: Object.fromEntries(names.flatMap((name, i) => memberOf(name, cells[i] ?? ''))) })
  }
  return users
}

/** An empty cell is an absent member. */
const memberOf = (name: string, cell: string): [string, unknown][] =>
  cell === '' ? [] : [[name, name === 'groups' ? commaParts(cell) : cell]]
