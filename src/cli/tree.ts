// The tree of commands: finding the place for one, and what all of them take.
import type { Command } from 'commander'

/** Flags that every command takes, before or after its name. */
export interface GlobalOptions {
  config?: string
  json?: boolean
}

/** The command that some words name, made where it is missing. */
export const commandAt = (program: Command, words: string): Command =>
  words.split(' ').reduce((at, word) => at.commands.find((each) => each.name() === word) ?? at.command(word), program)
