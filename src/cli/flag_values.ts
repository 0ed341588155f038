// The values of a command's flags, as the input of its operation.
import { Option } from 'commander'
import type { RawInput } from '../admin/perform.ts'
import { bool } from '../lib/field.ts'
import { isObject } from '../lib/json.ts'
import { dashed, type Flag } from './flags.ts'
import { readItem, readSecret } from './input.ts'
import { UsageError } from './output.ts'
import type { AdminClient } from './send.ts'

/** The flag as commander parses it. */
export function optionOf({ name, kind, value, doc, required, either, default: fallback }: Flag): Option {
  const notes = [required && !either ? 'required' : '', fallback === undefined ? '' : `default ${fallback}`].filter(
    Boolean,
  )
  const option = new Option(
    kind === 'switch' ? `--${name} [${value}]` : `--${name} <${value}>`,
    notes.length > 0 ? `${doc} (${notes.join(', ')})` : doc,
  )
  return kind === 'many' || kind === 'list'
    ? option.argParser((text: string, before: string[] = []) => [...before, text])
    : option
}

/** The flag that reads a secret from a file. */
export const fileOptionOf = ({ name }: Flag): Option =>
  new Option(`--${name}-file <file>`, `Reads --${name} from a file; --${name} - from standard input.`)

/** Replaces the flags that name a file by the secret or the JSON object in it. */
export async function readFiles(
  flags: readonly Flag[],
  given: Record<string, unknown>,
  itemComes: boolean,
): Promise<Record<string, unknown>> {
  const read = { ...given }
  for (const flag of flags.filter(({ secret, json }) => secret || json)) {
    const [name, file] = [optionOf(flag).attributeName(), given[fileOptionOf(flag).attributeName()]]
    if (flag.secret && given[name] !== undefined && file !== undefined)
      throw new UsageError(`--${flag.name} and --${flag.name}-file cannot be used together`)
    if (given[name] === '-' && itemComes)
      throw new UsageError(`standard input cannot hold both the item and --${flag.name}`)
    const from = flag.json || given[name] === '-' ? given[name] : file
    if (typeof from === 'string') read[name] = await (flag.json ? readItem(from) : readSecret(from))
  }
  return read
}

/** What the flags say, before the items that they name are found. */
export interface Said {
  params: Record<string, string>
  query: Record<string, unknown>
  body: Record<string, unknown>
  /** The items that are named without their id. */
  named: { flag: Flag; value: string }[]
}

/** Merges the flags into `item`; flags override its members. Throws UsageError that names every missing flag. */
export function readFlags(
  flags: readonly Flag[],
  given: Record<string, unknown>,
  item?: Record<string, unknown>,
): Said {
  const said: Said = { params: {}, query: {}, body: {}, named: [] }
  const faults: string[] = []
  for (const flag of flags) {
    const value = readFlag(flag, given[optionOf(flag).attributeName()])
    const part: Record<string, unknown> = said[flag.part]
    if (value === undefined) {
      if (isMissing(flag, flags, given) && !(item && flag.part === 'body'))
        faults.push(`${dashed(flag.either ?? [flag.name])} is required`)
    } else if (flag.find) said.named.push({ flag, value: String(value) })
    else part[flag.field] = merged(part[flag.field], value)
  }
  faults.push(...doubled(flags, given))
  if (faults.length > 0) throw new UsageError(...faults)
  return { ...said, body: { ...item, ...said.body } }
}

/** Whether a flag is required and neither it nor one of its alternatives is given. The first of them reports it. */
const isMissing = ({ name, required, either }: Flag, flags: readonly Flag[], given: Record<string, unknown>): boolean =>
  required && (!either || (either[0] === name && givenOf(either, flags, given).length === 0))

const givenOf = (names: readonly string[], flags: readonly Flag[], given: Record<string, unknown>): string[] =>
  names.filter((name) =>
    flags.some((flag) => flag.name === name && given[optionOf(flag).attributeName()] !== undefined),
  )

/** The flags that name the same item twice. */
const doubled = (flags: readonly Flag[], given: Record<string, unknown>): string[] =>
  flags.flatMap(({ name, either }) => {
    const both = either?.[0] === name ? givenOf(either, flags, given) : []
    return both.length > 1 ? `${both.map((each) => `--${each}`).join(' and ')} cannot be used together` : []
  })

/** The input of the operation. Finds the items that are named without their id. */
export async function inputOf({ named, ...said }: Said, sender: AdminClient): Promise<RawInput> {
  for (const { flag, value } of named) {
    const part: Record<string, unknown> = said[flag.part]
    part[flag.field] = await flag.find?.(sender, value)
  }
  return said
}

/** The values of two flags for one field: lists are joined, and so are the members of objects. */
function merged(before: unknown, value: unknown): unknown {
  if (Array.isArray(before)) return before.concat(value)
  return isObject(before) && isObject(value) ? { ...before, ...value } : value
}

/** Parses the text of a switch, because a JSON body must have true or false. A wrong text stays, for the message of the operation. */
const switchOf = (value: unknown): unknown => bool().safeParse(value).data ?? value

function readFlag({ kind, read }: Flag, value: unknown): unknown {
  if (kind === 'switch') return switchOf(value)
  if (!Array.isArray(value)) return value
  if (read) return read(value)
  const items = value.flatMap((text: string) => text.split(','))
  return kind === 'list' ? items.map((item) => item.trim()).filter(Boolean) : value
}
