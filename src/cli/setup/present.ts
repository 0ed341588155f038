// The existing items: read through the admin API, in the form of a document.
import { isDeepStrictEqual } from 'node:util'
import { actionNamed } from '../../admin/index.ts'
import { pagesOf } from '../pages.ts'
import type { AdminClient } from '../send.ts'
import { asBody } from './document.ts'
import { bodyOf, type Item, itemKey, type Kind, kindNamed, membersOf } from './kinds.ts'

/** One existing item. */
export interface Present {
  item: Item
  /** The item as the admin API returns it. */
  shown: Item
}
/** By kind, then by key. */
export type PresentOf = (kind: Kind) => Promise<Map<string, Present>>

/** Reads the items of each kind once, at the first request for them. */
export function readPresent(sender: AdminClient): PresentOf {
  const read = new Map<Kind, Promise<Map<string, Present>>>()
  const presentOf: PresentOf = (kind) => {
    const known = read.get(kind) ?? load(kind)
    read.set(kind, known)
    return known
  }
  const load = async (kind: Kind): Promise<Map<string, Present>> => {
    const names = await namesOf(kind, presentOf)
    const members = membersOf(kind)
    const all = new Map<string, Present>()
    for await (const listed of pagesOf(sender, actionNamed(kind.resource, 'list'))) {
      if (kind.ours && !kind.ours(listed)) continue
      const shown = kind.isShort?.(listed)
        ? ((await sender.send(actionNamed(kind.resource, 'get'), { params: kind.at(listed), query: {} })) as Item)
        : listed
      const item = itemOf(kind, members, shown, names)
      all.set(itemKey(kind, item), { item, shown })
    }
    return all
  }
  return presentOf
}

/** The keys of the items that a kind refers to, by their ids. */
async function namesOf({ reference }: Kind, presentOf: PresentOf): Promise<Map<unknown, string>> {
  const other = kindNamed(reference?.kind)
  if (!other) return new Map()
  return new Map([...(await presentOf(other))].map(([key, { shown }]) => [shown['id'], key]))
}

function itemOf({ reference, read }: Kind, members: readonly string[], shown: Item, names: Map<unknown, string>): Item {
  const named = read ? read(shown) : shown
  const whole: Item = reference ? { ...named, [reference.member]: names.get(named[reference.field]) } : named
  const has = (name: string) => whole[name] !== undefined && whole[name] !== null && whole[name] !== ''
  return Object.fromEntries(members.filter(has).map((name) => [name, whole[name]]))
}

/** An item without the members that have their defaults. */
export function withoutDefaults(kind: Kind, item: Item): Item {
  const body = bodyOf(kind)
  const plain = ([name, value]: [string, unknown]) => {
    if (kind.key.includes(name) || kind.always?.(item).includes(name)) return false
    const { [name]: _, ...others } = item
    const made = body.safeParse(asBody(kind, others))
    return made.success && isDeepStrictEqual((made.data as Item)[name], value)
  }
  return Object.fromEntries(Object.entries(item).filter((member) => !plain(member)))
}

/** Whether an export lists an item: of items that a document only changes, those that differ from the defaults. */
export const isExported = (kind: Kind, { item, shown }: Present): boolean =>
  kind.exported?.(shown) ?? (!kind.changes || Object.keys(withoutDefaults(kind, item)).length > kind.key.length)
