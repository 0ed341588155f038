// The admin commands: one for each admin operation that has a command, with flags that follow from its declaration.
import { type Command, Option } from 'commander'
import { type Action, commandOf } from '../admin/action.ts'
import { adminResources } from '../admin/index.ts'
import type { RawInput } from '../admin/perform.ts'
import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import { type Flag, flagsOf } from './flags.ts'
import { addImportCommand } from './import_users.ts'
import { readItem, readSecret } from './input.ts'
import { print, UsageError } from './output.ts'
import { runAction } from './send.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

/** Adds every admin command to `service admin`. */
export function addAdminCommands(program: Command, env: Env): void {
  for (const resource of adminResources) {
    for (const [word, action] of Object.entries({ ...resource.actions, ...resource.commands })) {
      const words = commandOf(resource, word)
      if (words === undefined || (action.cli || undefined)?.byHand) continue
      addCommand(commandAt(program, `admin ${words}`), action, env)
      if (words.startsWith(`${resource.name} `)) commandAt(program, `admin ${resource.name}`).description(resource.doc)
    }
  }
  addImportCommand(program, env)
}

function addCommand(command: Command, action: Action, env: Env): void {
  const flags = flagsOf(action)
  command.description(action.doc)
  for (const flag of flags) {
    command.addOption(optionOf(flag))
    if (flag.secret) command.addOption(fileOptionOf(flag))
  }
  const creates = action.status === 201
  if (creates) command.argument('[-]', 'Reads the item as JSON from standard input. Flags override its members.')
  command.action(async (...words: unknown[]) => {
    const { config: file, json } = command.optsWithGlobals<GlobalOptions>()
    const source = creates ? words[0] : undefined
    if (source !== undefined && source !== '-') throw new UsageError(`unexpected argument ${source}; did you mean -?`)
    const { config } = loadConfig(file, env)
    const given = await readJson(flags, await readSecrets(flags, command.opts(), source === '-'), source === '-')
    const item = source === undefined ? undefined : await readItem(source)
    const answer = await runAction(config, env, action, readFlags(flags, given, item))
    print(rowsOf(answer, action, json), json)
  })
}

function optionOf({ name, kind, value, doc, required, default: fallback }: Flag): Option {
  const notes = [required ? 'required' : '', fallback === undefined ? '' : `default ${fallback}`].filter(Boolean)
  const option = new Option(
    kind === 'switch' ? `--${name} [${value}]` : `--${name} <${value}>`,
    notes.length > 0 ? `${doc} (${notes.join(', ')})` : doc,
  )
  return kind === 'many' || kind === 'list'
    ? option.argParser((text: string, before: string[] = []) => [...before, text])
    : option
}

const fileOptionOf = ({ name }: Flag) =>
  new Option(`--${name}-file <file>`, `Reads --${name} from a file; --${name} - from standard input.`)

/** Replaces the flags that name a file by the secret in it. */
async function readSecrets(flags: readonly Flag[], given: Record<string, unknown>, itemComes: boolean) {
  const read = { ...given }
  for (const flag of flags.filter(({ secret }) => secret)) {
    const [name, file] = [optionOf(flag).attributeName(), given[fileOptionOf(flag).attributeName()]]
    if (given[name] !== undefined && file !== undefined)
      throw new UsageError(`--${flag.name} and --${flag.name}-file cannot be used together`)
    if (given[name] === '-' && itemComes)
      throw new UsageError(`standard input cannot hold both the item and --${flag.name}`)
    const from = given[name] === '-' ? '-' : file
    if (typeof from === 'string') read[name] = await readSecret(from)
  }
  return read
}

/** Replaces the flags that name a file by the JSON object in it. */
async function readJson(flags: readonly Flag[], given: Record<string, unknown>, itemComes: boolean) {
  const read = { ...given }
  for (const flag of flags.filter(({ json }) => json)) {
    const name = optionOf(flag).attributeName()
    const file = given[name]
    if (file === '-' && itemComes) throw new UsageError(`standard input cannot hold both the item and --${flag.name}`)
    if (typeof file === 'string') read[name] = await readItem(file)
  }
  return read
}

/** Merges the flags into `item`; flags override its members. Throws UsageError that names every missing flag. */
function readFlags(flags: readonly Flag[], given: Record<string, unknown>, item?: Record<string, unknown>): RawInput {
  const said = { params: {} as Record<string, string>, query: {}, body: {} }
  const missing: string[] = []
  for (const flag of flags) {
    const value = readFlag(flag, given[optionOf(flag).attributeName()])
    const part: Record<string, unknown> = said[flag.part]
    const before = part[flag.field]
    // The values of two flags for one field are merged.
    if (value !== undefined) part[flag.field] = Array.isArray(before) ? before.concat(value) : value
    else if (flag.required && !(item && flag.part === 'body')) missing.push(`--${flag.name} is required`)
  }
  if (missing.length > 0) throw new UsageError(...missing)
  return { ...said, body: { ...item, ...said.body } }
}

function readFlag({ kind, read }: Flag, value: unknown): unknown {
  if (!Array.isArray(value)) return value
  if (read) return read(value)
  const items = value.flatMap((text: string) => text.split(','))
  return kind === 'list' ? items.map((item) => item.trim()).filter(Boolean) : value
}

/** In text output, only the rows of an answer that has its rows in a member. */
const rowsOf = (answer: unknown, { cli }: Action, json: boolean | undefined): unknown =>
  json || !cli || !cli.rows ? answer : (answer as Record<string, unknown>)[cli.rows]
