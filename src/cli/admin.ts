// The admin commands: one for each admin operation that has a command, with flags that follow from its declaration.
import type { Command } from 'commander'
import { type Action, type AdminResource, commandOf } from '../admin/action.ts'
import { adminResources } from '../admin/index.ts'
import type { Env } from '../config/env.ts'
import { idTime } from '../lib/id.ts'
import { rfc3339 } from '../lib/time.ts'
import { fileOptionOf, inputOf, optionOf, readFiles, readFlags } from './flag_values.ts'
import { type Flag, flagsOf } from './flags.ts'
import { addImportCommand } from './import_users.ts'
import { readItem } from './input.ts'
import { itemParamOf } from './lookup.ts'
import { UsageError } from './output.ts'
import { withSender } from './send.ts'
import { adminTargetOf, type TargetFlags } from './target.ts'
import { printRows, show } from './terminal.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

/** Adds every admin command to `service admin`. With `argv` the commands of groups that it does not name have no flags, because flags take most of the time. */
export function addAdminCommands(program: Command, env: Env, argv?: readonly string[]): void {
  for (const resource of adminResources) {
    for (const [word, action] of Object.entries({ ...resource.actions, ...resource.commands })) {
      const words = commandOf(resource, word)
      if (words === undefined || (action.cli || undefined)?.byHand) continue
      const [group = '', inGroup] = words.split(' ')
      const command = commandAt(program, `admin ${words}`).description(action.doc)
      if (inGroup === undefined || !argv || argv.includes(group)) addFlags(command, resource, action, env)
      if (words.startsWith(`${resource.name} `)) commandAt(program, `admin ${resource.name}`).description(resource.doc)
    }
  }
  addImportCommand(program, env)
}

function addFlags(command: Command, { columns }: AdminResource, action: Action, env: Env): void {
  const flags = flagsOf(action)
  for (const flag of flags) {
    command.addOption(optionOf(flag))
    if (flag.secret) command.addOption(fileOptionOf(flag))
  }
  const reads = action.status === 201 && action.body !== undefined
  const itemFlag = flags.find(({ part, field }) => part === 'params' && field === itemParamOf(action))
  if (reads) command.argument('[-]', 'Reads the item as JSON from standard input. Flags override its members.')
  else if (itemFlag) command.argument('[id]', `The same as --${itemFlag.name}.`)
  command.action(async (...words: unknown[]) => {
    const options = command.optsWithGlobals<GlobalOptions & TargetFlags>()
    const word = typeof words[0] === 'string' ? words[0] : undefined
    if (reads && word !== undefined && word !== '-')
      throw new UsageError(`unexpected argument ${word}; did you mean -?`)
    const target = await adminTargetOf(options, env)
    const given = await readFiles(
      flags,
      withItem(command.opts(), reads ? undefined : word, itemFlag),
      reads && word === '-',
    )
    const said = readFlags(flags, given, reads && word ? await readItem(word) : undefined)
    await withSender(target, async (sender) => {
      const answer = await sender.send(action, await inputOf(said, sender), undefined, noteStop)
      if (action.lines) return printRows(answer as AsyncIterable<unknown>)
      for (const [i, part] of (options.json ? [answer] : partsOf(answer, action)).entries()) {
        if (i > 0) process.stdout.write('\n')
        show(part, { ...options, first: columns, env })
      }
    })
  })
}

/** A search that stopped says on standard error how it continues. */
function noteStop(after: string): void {
  const time = rfc3339(idTime(after))
  process.stderr.write(`the search stopped at ${time}: there may be older matches. Search on with --after ${after}\n`)
}

/** The flags, with the id that was given without one. */
function withItem(given: Record<string, unknown>, word: string | undefined, flag: Flag | undefined) {
  if (word === undefined || !flag) return given
  const name = optionOf(flag).attributeName()
  if (given[name] !== undefined) throw new UsageError(`--${flag.name} and ${word} cannot be used together`)
  return { ...given, [name]: word }
}

/** What text and tables show of an answer: only its rows, if it has them in a member. */
function partsOf(answer: unknown, { cli }: Action): unknown[] {
  if (!cli || cli.rows === undefined) return [answer]
  const { [cli.rows]: rows, ...others } = answer as Record<string, unknown>
  return cli.beforeRows ? [others, rows] : [rows]
}
