// The tree of commands and the flags that all of them take.
import type { Command } from 'commander'

/** The formats of --output. */
export const OUTPUTS = ['table', 'wide', 'text'] as const

/** Flags that every command takes, before or after its name. */
export interface GlobalOptions {
  config?: string
  json?: boolean
  output?: (typeof OUTPUTS)[number]
}

/** The command that the words name. It is created when it is missing. */
export const commandAt = (program: Command, words: string): Command =>
  words.split(' ').reduce((at, word) => at.commands.find((each) => each.name() === word) ?? at.command(word), program)

/** Adds the flags that name a server elsewhere (cli/target.ts). */
export const addTargetOptions = (command: Command): Command =>
  command
    .option('--admin-url <url>', 'Base of the admin API of a server elsewhere: https, or http on this machine.')
    .option(
      '--admin-key-file <file>',
      'File with the API key for it, readable by its owner only. Default: SERVICE_ADMIN_API_KEY.',
    )
    .option('--ca-file <file>', 'Certificates (PEM) to trust for it, beside the public ones.')
    .option('--profile <name>', 'Its URL, key file and CA file by a name from ~/.config/service/profiles.yaml.')
