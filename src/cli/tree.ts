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
