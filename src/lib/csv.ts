// Reads CSV (RFC 4180): quoted fields may contain commas, quotes (doubled) and line breaks.

export interface CsvRecord {
  /** The line on which it begins, from 1. */
  line: number
  cells: string[]
  /** The fault of this record. The text after it is not read. */
  fault?: string
}

const PLAIN = /[^,\r\n]*/y
const BREAK = /\r\n|\n|\r/y

/** The records of a text. Empty lines are skipped. */
export function* readCsv(text: string): Generator<CsvRecord, undefined> {
  let [at, line] = [0, 1]
  while (at < text.length) {
    const record: CsvRecord = { line, cells: [] }
    for (let more = true; more; ) {
      const cell = readCell(text, at)
      record.cells.push(cell.value)
      line += cell.lines
      at = cell.end
      more = text[at] === ','
      if (more) at++
    }
    const length = breakAt(text, at)
    if (length === 0 && at < text.length) {
      yield { ...record, fault: 'a quote is not closed, or is followed by more than a comma' }
      return undefined
    }
    at += length
    line++
    if (record.cells.length > 1 || record.cells[0] !== '') yield record
  }
  return undefined
}

interface Cell {
  value: string
  end: number
  /** The number of line breaks in it. */
  lines: number
}

/** The field at a position. It is malformed if it is not followed by a comma, a line break or the end of the text. */
function readCell(text: string, start: number): Cell {
  if (text[start] !== '"') {
    PLAIN.lastIndex = start
    const [value = ''] = PLAIN.exec(text) ?? []
    return { value, end: start + value.length, lines: 0 }
  }
  let close = text.indexOf('"', start + 1)
  while (close >= 0 && text[close + 1] === '"') close = text.indexOf('"', close + 2)
  if (close < 0) return { value: '', end: start, lines: 0 }
  const value = text.slice(start + 1, close).replaceAll('""', '"')
  return { value, end: close + 1, lines: value.split('\n').length - 1 }
}

function breakAt(text: string, at: number): number {
  BREAK.lastIndex = at
  return BREAK.exec(text)?.[0].length ?? 0
}

/** The comma-separated parts of a text, without empty parts. */
export const commaParts = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
