// `admin apply`, `admin diff` and `admin export`: what is set up, as one document that can be kept under version control.
import type { Command } from 'commander'
import type { Env } from '../../config/env.ts'
import { loadConfig } from '../../config/load.ts'
import { formatYaml } from '../../config/yaml.ts'
import { EXIT, print } from '../output.ts'
import { type AdminClient, withSender } from '../send.ts'
import { commandAt, type GlobalOptions } from '../tree.ts'
import { readDocument } from './document.ts'
import type { Item } from './kinds.ts'
import { carryOut, compare, describe, extraOf, kindsNamed, planOf } from './plan.ts'
import { readPresent, withoutDefaults } from './present.ts'

const FILE = ['-f, --file <file>', 'The document, YAML or JSON; - reads it from standard input.'] as const

/** Adds the commands to `service admin`; `exit` is told how a comparison ended. */
export function addSetupCommands(program: Command, env: Env, exit: (code: number) => void): void {
  const within = (work: (sender: AdminClient) => Promise<void>) =>
    withSender(loadConfig(program.opts<GlobalOptions>().config, env).config, env, work)
  const json = () => program.opts<GlobalOptions>().json

  commandAt(program, 'admin apply')
    .description('Makes what a document lists and changes what differs. Deletes nothing that it does not list.')
    .requiredOption(...FILE)
    .option('--dry-run', 'Only say what would be done.')
    .action(({ file, dryRun }: { file: string; dryRun?: boolean }) =>
      within(async (sender) => {
        const document = await readDocument(file)
        const presentOf = readPresent(sender)
        const plan = await planOf(document, presentOf)
        const done: Item[] = []
        try {
          if (dryRun) done.push(...plan.map(describe))
          else for await (const each of carryOut(plan, sender, presentOf)) done.push(each)
        } finally {
          // Also when one is refused: what was done before it is done, and secrets are shown once.
          print([...done, { unchanged: document.length - plan.length }], json())
        }
      }),
    )

  commandAt(program, 'admin diff')
    .description('Says how what is set up differs from a document; ends with 1 when it does.')
    .requiredOption(...FILE)
    .action(({ file }: { file: string }) =>
      within(async (sender) => {
        const document = await readDocument(file)
        const presentOf = readPresent(sender)
        const changes = (await planOf(document, presentOf)).map(compare)
        const extra = (await extraOf(document, presentOf)).map((each) => ({ action: 'not in the document', ...each }))
        print([...changes, ...extra], json())
        exit(changes.length + extra.length > 0 ? EXIT.failed : EXIT.ok)
      }),
    )

  commandAt(program, 'admin export')
    .description(
      'Prints what operators set up as a document for apply. Without secrets, users and what registered itself.',
    )
    .option('--only <a,b>', 'Only these kinds.')
    .action(({ only = '' }: { only?: string }) =>
      within(async (sender) => {
        const presentOf = readPresent(sender)
        const document: Record<string, Item[]> = {}
        for (const kind of kindsNamed(only.split(',').filter(Boolean))) {
          // Sorted, so that two exports can be compared line by line.
          const present = [...(await presentOf(kind))].sort(([a], [b]) => (a < b ? -1 : 1))
          const items = present.map(([, { item }]) => withoutDefaults(kind, item))
          if (items.length > 0) document[kind.name] = items
        }
        if (json()) print(document, true)
        else process.stdout.write(formatYaml(document))
      }),
    )
}
