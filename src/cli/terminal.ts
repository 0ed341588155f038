// Output of the admin commands: tables that fit the width of a terminal, and exports. Pipes get the lines of output.ts.
import { once } from 'node:events'
import { styleText } from 'node:util'
import { jsonLines } from '../admin/export.ts'
import type { Env } from '../config/env.ts'
import { print, textPairs } from './output.ts'
import type { GlobalOptions } from './tree.ts'

interface TableStyle {
  /** Columns of the terminal. Infinity: the table shows every column and shortens no value. */
  width: number
  colors: boolean
  /** The members that come first. */
  first?: readonly string[]
}

interface ShowOptions extends Pick<GlobalOptions, 'json' | 'output'> {
  /** The members that come first in a table. */
  first?: readonly string[]
  /** Without NO_COLOR, and on a terminal that is not dumb, a table has colors. */
  env: Env
}

const GAP = '  '
/** The maximum width of a column, so that one long value does not hide the other columns. */
const MAX_COLUMN = 40
/** A column that must be shortened below this width is left out. */
const MIN_COLUMN = 8

/** Prints an answer of the admin API: as JSON, as a table on a terminal, otherwise as key=value lines. */
export function show(answer: unknown, { json, output, first, env }: ShowOptions): void {
  const { stdout } = process
  const format = output ?? (stdout.isTTY ? 'table' : 'text')
  if (json || format === 'text' || answer === undefined) {
    print(answer, json)
    return
  }
  const style: TableStyle = {
    // A terminal that does not know its size has 0 columns.
    width: format === 'wide' ? Number.POSITIVE_INFINITY : stdout.columns || 80,
    colors: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    first,
  }
  const lines = Array.isArray(answer) ? tableOf(answer, style) : recordOf(answer, style)
  stdout.write(`${lines.join('\n')}\n`)
}

/** Prints the rows of an export as JSON lines. Ends early when the reader has seen enough. */
export async function printRows(rows: AsyncIterable<unknown>): Promise<void> {
  const { stdout } = process
  for await (const chunk of jsonLines(rows)) {
    if (!stdout.writable) return
    if (!stdout.write(chunk)) await once(stdout, 'drain').catch(() => {})
  }
}

/** A list as the lines of a table: a header, and a line for each item. */
export function tableOf(items: readonly unknown[], { width, colors, first = [] }: TableStyle): string[] {
  if (items.length === 0) return ['The list is empty.']
  const rows = items.map((item) => new Map(textPairs(item).map(([name, text]) => [name, printable(text)])))
  const cut = Number.isFinite(width)
  const names = [...new Set([...first, ...rows.flatMap((row) => [...row.keys()])])].filter((name) =>
    rows.some((row) => (cut ? row.get(name) : row.has(name))),
  )
  const natural = names.map((name) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row.get(name) ?? '')), widthOf(name)),
  )
  const columns = cut
    ? fittingColumns(names, natural, width)
    : names.map((name, i) => ({ name, width: natural[i] ?? 0 }))
  const line = (cellOf: (name: string) => string, paint: (text: string, padded: string) => string) =>
    columns
      .map((column, i) => {
        const text = shortened(cellOf(column.name), column.width)
        const last = i === columns.length - 1
        return paint(text, last ? text : text + ' '.repeat(column.width - widthOf(text)))
      })
      .join(GAP)
      .trimEnd()
  const paintHeader = (_text: string, padded: string) => (colors ? styleText('bold', padded, FORCE) : padded)
  const paintCell = (text: string, padded: string) => (colors ? colored(text, padded) : padded)
  return [line((name) => name, paintHeader), ...rows.map((row) => line((name) => row.get(name) ?? '', paintCell))]
}

/** One item: a line for each member. Nothing is shortened, because a secret may be shown only once. */
function recordOf(item: unknown, { colors }: TableStyle): string[] {
  const pairs = textPairs(item)
  const longest = Math.max(0, ...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => {
    const text = printable(value)
    const padded = name.padEnd(longest)
    return `${colors ? styleText('bold', padded, FORCE) : padded}${GAP}${colors ? colored(text, text) : text}`.trimEnd()
  })
}

/** The columns that fit, in order. The last one may be shortened. */
function fittingColumns(names: readonly string[], natural: readonly number[], width: number) {
  const columns: { name: string; width: number }[] = []
  let left = width
  for (const [i, name] of names.entries()) {
    const wanted = Math.min(natural[i] ?? 0, MAX_COLUMN)
    const room = left - (columns.length > 0 ? GAP.length : 0)
    if (room < Math.min(wanted, MIN_COLUMN)) break
    columns.push({ name, width: Math.min(wanted, room) })
    left = room - Math.min(wanted, room)
    if (wanted > room) break
  }
  return columns
}

/** Without this option styleText looks at the environment of this process. */
const FORCE = { validateStream: false } as const
const COLORS: Readonly<Record<string, 'green' | 'red'>> = {
  ...Object.fromEntries(['active', 'healthy', 'ok'].map((word) => [word, 'green'])),
  ...Object.fromEntries(
    ['suspended', 'disabled', 'revoked', 'failed', 'failing', 'unhealthy'].map((word) => [word, 'red']),
  ),
}
function colored(text: string, padded: string): string {
  const color = COLORS[text]
  return color ? styleText(color, padded, FORCE) : padded
}

/** Names of clients come from outside. Control characters in them could change what the terminal shows. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')

/** Characters that take two columns of a terminal. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\uff01-\uff60]/u
const columnsOf = (character: string) => (/\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1)
const widthOf = (text: string): number => [...text].reduce((sum, each) => sum + columnsOf(each), 0)

function shortened(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [kept, used] = ['', 0]
  for (const each of text) {
    used += columnsOf(each)
    if (used > width - 1) break
    kept += each
  }
  return `${kept}…`
}
