// The examples in the help of commands: each is a call of its command, with flags that exist.
import type { Command } from 'commander'
import { beforeAll, expect, test } from 'vitest'
import { EXAMPLES } from '../../src/cli/examples.ts'
import { commandTree } from '../../src/command_line.ts'
import { runHere } from '../support/cli.ts'

/** The words of a command line, without redirections. Quotes group words, as in a shell. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ > .*/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word)

let program: Command
beforeAll(async () => {
  program = await commandTree({}, () => {})
})

test.each(Object.entries(EXAMPLES))('the examples of %s call it with flags that it has', (words, lines) => {
  const command = words
    .split(' ')
    .reduce((at, word) => at.commands.find((each) => each.name() === word) ?? program, program)
  expect(command).not.toBe(program)
  const flags = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short])
  for (const line of lines) {
    const given = wordsOf(line)
    expect(given.slice(0, words.split(' ').length + 1).join(' ')).toBe(`service ${words}`)
    for (const flag of given.filter((word) => word.startsWith('-'))) expect(flags, line).toContain(flag)
    const required = command.options.filter(({ mandatory, description }) => mandatory || /\(required/.test(description))
    const isGiven = ({ short, long }: (typeof required)[number]) =>
      [short, long, `${long}-file`].some((flag) => flag && given.includes(flag))
    expect(required.filter((option) => !isGiven(option)).map(({ long }) => long)).toEqual([])
  }
})

test('help shows the examples', async () => {
  const { stdout } = await runHere(['help', 'admin', 'revoke'])
  expect(stdout).toContain('Example:\n  service admin revoke --client-name Robot --since 24h --dry-run')
})
