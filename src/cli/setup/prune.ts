// `admin apply --prune`: which items it removes, the confirmation, and the removal.
import { createInterface } from 'node:readline/promises'
import { actionNamed } from '../../admin/index.ts'
import type { Config } from '../../config/schema.ts'
import { asText, UsageError } from '../output.ts'
import type { AdminClient } from '../send.ts'
import type { SetupDocument } from './document.ts'
import { bodyOf, type Item, isNamedBy, KINDS, type Kind, namedIn, namingMembers } from './kinds.ts'
import { extraOf } from './plan.ts'
import type { Present, PresentOf } from './present.ts'

export interface Removal {
  kind: Kind
  key: string
  present: Present
}

/**
 * The items that `--prune` removes, dependent items first: those of the listed kinds that the document does not list, and what depends on
 * them. Items of the configuration are kept, because the next start would create them again. Throws UsageError when the document lists
 * an item that depends on one that is removed.
 */
export async function removalsOf(document: SetupDocument, presentOf: PresentOf, config: Config): Promise<Removal[]> {
  const extra = await extraOf(document, presentOf)
  const removals = extra.filter(({ kind, key }) => !(kind.configured?.(config) ?? []).includes(key))
  for (const kind of KINDS) {
    const known = new Set(removals.filter((each) => each.kind === kind).map(({ key }) => key))
    for (const [key, present] of kind.parents && removals.length > 0 ? await presentOf(kind) : [])
      if (!known.has(key) && parentIn(removals, kind, present.item)) removals.push({ kind, key, present })
  }
  const orphans = document.wanted.flatMap(({ kind, key, item }) =>
    neededIn(removals, kind, item).map(
      (needed) => `${kind.name} ${key} needs ${needed.kind.name} ${needed.key}, which the document does not list`,
    ),
  )
  if (orphans.length > 0) throw new UsageError(...orphans)
  const byKey = (a: Removal, b: Removal) => (a.key < b.key ? -1 : 1)
  return removals.sort((a, b) => KINDS.indexOf(b.kind) - KINDS.indexOf(a.kind) || byKey(a, b))
}

/** The removals of items that an item names. */
const neededIn = (removals: readonly Removal[], kind: Kind, item: Item): Removal[] =>
  namingMembers(kind).flatMap((naming) => {
    const names = namedIn(item, naming)
    return removals.filter(
      (each) =>
        each.kind.name === naming.kind && names.some((name) => isNamedBy(naming, name, each.kind, each.present.item)),
    )
  })

const parentIn = (removals: readonly Removal[], { parents = {} }: Kind, item: Item): Removal | undefined =>
  removals.find(({ kind, key }) =>
    Object.entries(parents).some(([member, parent]) => kind.name === parent && item[member] === key),
  )

/** The text of a removal. */
export const describeRemoval = ({ kind, key }: Removal): Item => ({
  action: kind.changes ? 'clear' : 'delete',
  kind: kind.name,
  key,
})

/** Shows what is removed, and asks for a confirmation unless `yes`. Throws UsageError without a terminal, and for any answer but yes. */
export async function confirmRemovals(removals: readonly Removal[], yes: boolean): Promise<void> {
  if (removals.length === 0) return
  process.stderr.write(
    `The document does not list ${removals.length === 1 ? 'this item' : `these ${removals.length} items`}. Deleting one ends its tokens, consents and connections.\n\n`,
  )
  process.stderr.write(`${asText(removals.map(describeRemoval))}\n\n`)
  if (yes) return
  if (!process.stdin.isTTY) throw new UsageError('nothing was changed: add --yes to remove without a question')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question('Remove them? [y/N] ').finally(() => terminal.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError('nothing was changed')
}

/** Removes the items one after the other. Yields each removed item. */
export async function* remove(removals: readonly Removal[], sender: AdminClient): AsyncGenerator<Item> {
  for (const removal of removals) {
    const { kind, present } = removal
    const params = kind.at(present.shown)
    const body = kind.changes && defaultsOf(kind, present.item)
    if (body) await sender.send(actionNamed(kind.resource, 'update'), { params, query: {}, body })
    else await sender.send(actionNamed(kind.resource, 'delete'), { params, query: kind.removal ?? {} })
    yield describeRemoval(removal)
  }
}

/** The members of an item that the document would set, with their defaults. */
function defaultsOf(kind: Kind, item: Item): Item {
  const keys = kind.key.map((name) => [name, item[name]])
  const defaults = bodyOf(kind).parse(Object.fromEntries(keys)) as Item
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => !kind.key.includes(name)))
}
