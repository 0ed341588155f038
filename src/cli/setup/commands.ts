// `admin apply`, `admin diff` and `admin export`: the set-up as one document that can be kept under version control.
import type { Command } from 'commander'
import { actionNamed } from '../../admin/index.ts'
import type { Env } from '../../config/env.ts'
import { issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'
import { formatYaml } from '../../config/yaml.ts'
import { DIFFERS, EXIT, print } from '../output.ts'
import { CommandProgress } from '../progress.ts'
import { type AdminClient, withSender } from '../send.ts'
import { adminTargetOf, type TargetFlags } from '../target.ts'
import { commandAt, type GlobalOptions } from '../tree.ts'
import { readDocument } from './document.ts'
import { type Item, KINDS, type Kind } from './kinds.ts'
import { carryOut, compare, describe, extraOf, inText, kindsNamed, planOf, unlistedIn } from './plan.ts'
import { isExported, readPresent, withoutDefaults } from './present.ts'
import { confirmRemovals, describeRemoval, removalsOf, remove } from './prune.ts'

const FILE = ['-f, --file <file>', 'Document in YAML or JSON. - reads it from standard input.'] as const

/** Adds the commands to `service admin`. `exit` takes the exit code of a comparison. */
export function addSetupCommands(program: Command, env: Env, exit: (code: number) => void): void {
  const admin = commandAt(program, 'admin')
  const within = async (work: (sender: AdminClient, config: Config) => Promise<void>) =>
    withSender(await adminTargetOf(admin.optsWithGlobals<GlobalOptions & TargetFlags>(), env), async (sender) =>
      work(sender, await configOf(sender)),
    )
  const json = () => program.opts<GlobalOptions>().json

  commandAt(program, 'admin apply')
    .description('Creates and changes items so that they match a document. Items that it does not list are kept.')
    .requiredOption(...FILE)
    .option('--dry-run', 'Print the changes without making them.')
    .option('--prune', 'Remove the items that the document does not list, of the kinds that it lists.')
    .option('--yes', 'Do not ask before items are removed.')
    .action(({ file, ...flags }: { file: string } & ApplyFlags) =>
      within((sender, config) => apply(file, flags, sender, config, json())),
    )

  commandAt(program, 'admin diff')
    .description(
      'Prints how the set-up differs from a document. Exits with 0 when nothing differs, with 2 when something does, and with 1 when it fails.',
    )
    .requiredOption(...FILE)
    .action(({ file }: { file: string }) =>
      within(async (sender) => {
        const differences = await differencesOf(file, sender)
        print(json() ? differences : differences.map(inText), json())
        exit(differences.length > 0 ? DIFFERS : EXIT.ok)
      }),
    )

  commandAt(program, 'admin export')
    .description(
      'Prints the set-up as a document for `apply`, without secrets and without clients that registered themselves. For users it prints only the groups that operators set.',
    )
    .option('--only <a,b>', `Only these kinds: ${KINDS.map(({ name }) => name).join(', ')}.`)
    .action(({ only = '' }: { only?: string }) =>
      within(async (sender, config) => {
        const kinds = kindsNamed(only.split(',').filter(Boolean))
        const document = await setUpOf(sender, kinds, issuerOf(config))
        for (const unlisted of unlistedIn(document, kinds))
          process.stderr.write(`note: ${unlisted} before you apply the document at another installation\n`)
        if (json()) print(document, true)
        else process.stdout.write(formatYaml(document))
      }),
    )
}

/** The configuration of the server, without secrets. */
const configOf = async (sender: AdminClient): Promise<Config> =>
  (await sender.send(actionNamed('config', 'show'), { params: {}, query: {} })) as Config

interface ApplyFlags {
  dryRun?: boolean
  prune?: boolean
  yes?: boolean
}

async function apply(file: string, flags: ApplyFlags, sender: AdminClient, config: Config, json?: boolean) {
  const document = await readDocument(file)
  const presentOf = readPresent(sender)
  const plan = await planOf(document, presentOf)
  const removals = flags.prune ? await removalsOf(document, presentOf, config) : []
  if (!flags.dryRun) await confirmRemovals(removals, flags.yes ?? false)
  const done: Item[] = []
  const progress = new CommandProgress('apply')
  const note = (each: Item): void => {
    done.push(each)
    progress.show(done.length, done.length / (plan.length + removals.length))
  }
  try {
    if (flags.dryRun) done.push(...plan.map(describe), ...removals.map(describeRemoval))
    else {
      for await (const each of carryOut(plan, sender, presentOf)) note(each)
      // Last, so that nothing is removed when a change is refused.
      for await (const each of remove(removals, sender)) note(each)
    }
  } finally {
    progress.end()
    // Printed even when a later change is refused, because secrets are shown only once.
    print([...done, { unchanged: document.wanted.length - plan.length }], json)
  }
}

/** The rows of `diff`: the changes that `apply` would make, and the items that the document does not list. */
async function differencesOf(file: string, sender: AdminClient): Promise<Item[]> {
  const document = await readDocument(file)
  const presentOf = readPresent(sender)
  const changes = (await planOf(document, presentOf)).map(compare)
  const extra = await extraOf(document, presentOf)
  return [...changes, ...extra.map(({ kind, key }) => ({ action: 'not in the document', kind: kind.name, key }))]
}

/** The document of `export`, with these kinds. What names the issuer of this server by default is left out: another installation has its own. */
async function setUpOf(sender: AdminClient, kinds: readonly Kind[], issuer: string): Promise<Record<string, Item[]>> {
  const presentOf = readPresent(sender)
  const document: Record<string, Item[]> = {}
  for (const kind of kinds) {
    // Sorted, so that exports can be compared line by line.
    const present = [...(await presentOf(kind))].sort(([a], [b]) => (a < b ? -1 : 1))
    const items = present
      .filter(([, each]) => isExported(kind, each))
      .map(([, { item }]) => withoutDefaults(kind, kind.issuer ? without(item, kind.issuer, issuer) : item))
    if (items.length > 0) document[kind.name] = items
  }
  return document
}

/** An item without a member, if the member has this value. */
const without = (item: Item, member: string, value: unknown): Item =>
  Object.fromEntries(Object.entries(item).filter(([name, each]) => name !== member || each !== value))
