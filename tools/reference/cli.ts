// docs/reference/cli.md: every command with its flags, from the tree that parses them.
import type { Argument, Command, Option } from 'commander'
import { EXAMPLES } from '../../src/cli/examples.ts'
import { EXIT, EXIT_MEANS } from '../../src/cli/output.ts'
import { commandTree } from '../../src/command_line.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `\`service\` is \`node dist/bin/service.js\`; in the image it is the entry point. \`service COMMAND --help\` prints the same text as this page. \`service completion\` prints a completion script for a shell.
Results are printed to standard output as \`key=value\` lines, or with \`--json\` as JSON. Errors are printed to standard error as lines that begin with \`error: \`. Settings are read from the file of \`--config\` and from the
environment ([configuration](configuration.md)).

The commands under \`admin\` call the running server if one answers on \`admin.address\` ([HTTP API](http-api.md)). Otherwise they open the database directly. A flag that is shown with
\`[true|false]\` means true if it has no value. A command that shows \`[-]\` creates an item, and can read it as JSON from standard input.`

/** Flags of all commands, exit codes, then a section per command in the order of \`--help\`. */
export async function renderCli(): Promise<string> {
  const program = await commandTree({}, () => {})
  return page(
    'Command line',
    'src/cli and src/admin',
    INTRO,
    '## Flags of every command',
    table(
      ['Flag', 'Meaning'],
      program.options.map(flagRow).map(([flag = '', , meaning = '']) => [flag, meaning]),
    ),
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.entries(EXIT).map(([name, number]) => [String(number), EXIT_MEANS[name as keyof typeof EXIT]]),
    ),
    ...program.commands.flatMap((each) => [`## service ${each.name()}`, ...sectionsOf(each, `service ${each.name()}`)]),
  )
}

/** A command itself, unless it only holds others, and those below it. */
function sectionsOf(command: Command, words: string): string[] {
  const { options, registeredArguments: given, commands } = command
  const usage = [words, ...given.map(written), ...(options.length > 0 ? ['[flags]'] : [])].join(' ')
  const isGroup = commands.length > 0 && options.length === 0 && given.length === 0
  const examples = EXAMPLES[words.replace('service ', '')] ?? []
  const rows = [...given.map(argumentRow), ...options.map(flagRow)]
  return [
    command.description(),
    ...(isGroup ? [] : [`\`\`\`\n${usage}\n\`\`\``]),
    ...(rows.length > 0 ? [table(['Flag', 'Default', 'Meaning'], rows)] : []),
    ...(examples.length > 0 ? [`\`\`\`\n${examples.join('\n')}\n\`\`\``] : []),
    ...commands.flatMap((each) => [`### ${words} ${each.name()}`, ...sectionsOf(each, `${words} ${each.name()}`)]),
  ].filter(Boolean)
}

const written = (argument: Argument): string => {
  const name = argument.name() + (argument.variadic ? '...' : '')
  return argument.required ? `<${name}>` : name.startsWith('[') ? name : `[${name}]`
}
const argumentRow = (argument: Argument): string[] => [code(written(argument)), '', argument.description]
/** What help says in brackets at the end: `(required, default 100)`. */
const NOTES = / \((?=required|default)(required)?(?:, )?(?:default:? ([^()]*))?\)$/
function flagRow({ flags, mandatory, defaultValue, defaultValueDescription, description }: Option): string[] {
  const [notes = '', required, said = ''] = NOTES.exec(description) ?? []
  const doc = description.slice(0, description.length - notes.length)
  return [
    code(flags),
    defaultValue === undefined || defaultValue === false
      ? said && code(said)
      : code(defaultValueDescription ?? String(defaultValue)),
    mandatory || required ? `${doc} Required.` : doc,
  ]
}
