// Compares a document with the existing items, and makes the changes.
import { isDeepStrictEqual } from 'node:util'
import { actionNamed } from '../../admin/index.ts'
import { isObject } from '../../lib/json.ts'
import { UsageError } from '../output.ts'
import type { AdminClient } from '../send.ts'
import { asBody, type SetupDocument, type WantedSetup } from './document.ts'
import {
  type Item,
  isNamedBy,
  itemKey,
  KINDS,
  type Kind,
  kindNamed,
  namedIn,
  namingMembers,
  updateOf,
  wholeKind,
} from './kinds.ts'
import { isExported, type Present, type PresentOf } from './present.ts'

export interface SetupChange {
  wanted: WantedSetup
  /** The existing item, or undefined when it must be created. */
  present?: Present
  /** Members that differ. */
  fields: string[]
}

/** The changes that make the set-up match a document, in order. Throws UsageError for a reference to an item that does not exist. */
export async function planOf({ wanted: document }: SetupDocument, presentOf: PresentOf): Promise<SetupChange[]> {
  const changes: SetupChange[] = []
  const missing: string[] = []
  for (const wanted of document) {
    const { kind, item } = wanted
    const present = (await presentOf(kind)).get(wanted.key)
    const same = (name: string) => covers(present?.item[name], item[name], kind.merged?.includes(name) ?? false)
    const fields = Object.keys(item).filter((name) => !same(name))
    if (kind.changes && !present) missing.push(`${kind.name} ${wanted.key} does not exist, and is not created here`)
    if (fields.length > 0) changes.push({ wanted, present, fields })
    missing.push(...(await unknownIn({ wanted, fields }, document, presentOf)))
  }
  if (missing.length > 0) throw new UsageError(...missing)
  return changes
}

/** Whether an existing value equals the wanted one. Of a merged member only the wanted parts count. Absent, null and empty are equal. */
function covers(value: unknown, wanted: unknown, merged: boolean): boolean {
  if (merged && isObject(wanted))
    return Object.entries(wanted).every(([name, each]) => covers(isObject(value) ? value[name] : undefined, each, true))
  return isDeepStrictEqual(value ?? undefined, wanted ?? undefined) || (value === undefined && isNothing(wanted))
}
const isNothing = (value: unknown) => value === '' || (Array.isArray(value) && value.length === 0)

/** A sentence for each item that a changed member names and that does not exist, neither in the document nor on the server. */
async function unknownIn(
  { wanted: { kind, key, item }, fields }: SetupChange,
  document: readonly WantedSetup[],
  presentOf: PresentOf,
): Promise<string[]> {
  const unknown: string[] = []
  for (const naming of namingMembers(kind)) {
    const other = kindNamed(naming.kind)
    if (!other || !fields.includes(naming.member.replace(/\..*/, ''))) continue
    for (const name of namedIn(item, naming)) {
      const isIt = ({ item }: { item: Item }) => isNamedBy(naming, name, other, item)
      if (document.some((each) => each.kind === other && isIt(each))) continue
      const present = await presentOf(wholeKind(other))
      if (![...present.values()].some(isIt))
        unknown.push(`${kind.name} ${key}: ${naming.member} ${name} does not exist`)
    }
  }
  return unknown
}

/** Existing items of the listed kinds that are not in the document. */
export async function extraOf(
  { wanted, kinds }: SetupDocument,
  presentOf: PresentOf,
): Promise<{ kind: Kind; key: string; present: Present }[]> {
  const extra = []
  for (const kind of kinds) {
    const listed = new Set(wanted.filter((each) => each.kind === kind).map(({ key }) => key))
    for (const [key, present] of await presentOf(kind))
      if (!listed.has(key) && isExported(kind, present)) extra.push({ kind, key, present })
  }
  return extra
}

const UNLISTED: Readonly<Record<string, string>> = {
  clients: 'is not in the document, because it registered itself or was deleted; remove it',
}

/** A sentence for each item that an exported document names and does not contain: a client that registered itself, or something deleted. */
export function unlistedIn(document: Readonly<Record<string, readonly Item[]>>, kinds: readonly Kind[]): string[] {
  const namings = kinds.flatMap((kind) => namingMembers(kind).map((naming) => ({ kind, naming })))
  return namings.flatMap(({ kind, naming }) => {
    const other = kinds.find(({ name }) => name === naming.kind)
    const listed = document[naming.kind] ?? []
    return (document[kind.name] ?? []).flatMap((item) =>
      namedIn(item, naming)
        .filter((name) => other && !listed.some((each) => isNamedBy(naming, name, other, each)))
        .map(
          (name) =>
            `${kind.name} ${itemKey(kind, item)}: ${naming.member} names ${name}, which ${UNLISTED[naming.kind] ?? 'was deleted; name another one'}`,
        ),
    )
  })
}

/** Secrets that only the answer of a creation contains. */
const SHOWN_ONCE = ['client_secret', 'secret']

/** `replace` is for kinds that cannot be updated: the existing item is deleted and created again. */
const verbOf = ({ wanted, present }: SetupChange): 'create' | 'update' | 'replace' =>
  !present ? 'create' : updateOf(wanted.kind) ? 'update' : 'replace'

/** Makes the planned changes one after the other. Yields the result of each; throws the error of the first change that is refused. */
export async function* carryOut(
  changes: readonly SetupChange[],
  sender: AdminClient,
  presentOf: PresentOf,
): AsyncGenerator<Item> {
  const made = new Map<string, string>()
  for (const change of changes) {
    const { kind, key } = change.wanted
    const answer = await carryOutOne(change, sender, await idOfReference(change.wanted, made, presentOf))
    if (answer['id'] !== undefined) made.set(`${kind.name} ${key}`, String(answer['id']))
    const secrets = SHOWN_ONCE.filter((name) => answer[name] !== undefined).map((name) => [name, answer[name]])
    yield { ...describe(change), ...Object.fromEntries(secrets) }
  }
  for (const change of changes) await setLate(change, sender)
}

/** Sets the members that refer to items which come later in the document. */
async function setLate({ wanted: { kind, item }, fields }: SetupChange, sender: AdminClient): Promise<void> {
  const late = fields.filter((name) => kind.late?.includes(name))
  const update = updateOf(kind)
  if (late.length === 0 || !update) return
  const body = Object.fromEntries(late.map((name) => [name, item[name]]))
  await sender.send(update, { params: kind.at(item), query: {}, body })
}

async function idOfReference({ kind, item }: WantedSetup, made: Map<string, string>, presentOf: PresentOf) {
  const other = kindNamed(kind.reference?.kind)
  if (!kind.reference || !other) return undefined
  const named = String(item[kind.reference.member])
  return made.get(`${other.name} ${named}`) ?? String((await presentOf(other)).get(named)?.shown['id'])
}

async function carryOutOne(change: SetupChange, sender: AdminClient, id: string | undefined): Promise<Item> {
  const { wanted, present, fields } = change
  const { kind } = wanted
  const item = partOf(wanted.item, (name) => !kind.late?.includes(name))
  const update = updateOf(kind)
  if (present && update) {
    const body = partOf(item, (name) => fields.includes(name))
    return (await sender.send(update, { params: kind.at(present.shown), query: {}, body })) as Item
  }
  if (present) await sender.send(actionNamed(kind.resource, 'delete'), { params: kind.at(present.shown), query: {} })
  const whole = { ...present?.item, ...item }
  const first = kind.creates?.(whole) ?? Object.keys(whole)
  const body = asBody(
    kind,
    partOf(whole, (name) => first.includes(name)),
    id,
  )
  const made = (await sender.send(actionNamed(kind.resource, 'create'), { params: {}, query: {}, body })) as Item
  const rest = partOf(whole, (name) => !first.includes(name))
  if (update && Object.keys(rest).length > 0)
    await sender.send(update, { params: kind.at(whole), query: {}, body: rest })
  return made
}

const partOf = (item: Item, isPart: (name: string) => boolean): Item =>
  Object.fromEntries(Object.entries(item).filter(([name]) => isPart(name)))

/** The text of a change. */
export function describe(change: SetupChange): Item {
  const { kind, key } = change.wanted
  const changed = change.present ? { fields: change.fields } : {}
  return { action: verbOf(change), kind: kind.name, key, ...changed }
}

/** The text of a change with the values before and after. */
export const compare = (change: SetupChange): Item => ({
  ...describe(change),
  changes: change.fields.map((name) => ({
    member: name,
    from: masked(change.present?.item[name]),
    to: masked(change.wanted.item[name]),
  })),
})

/** A difference with its values as text, for people. */
export const inText = ({ changes, ...difference }: Item): Item => ({
  ...difference,
  ...(Array.isArray(changes)
    ? { changes: changes.map(({ member, from, to }) => ({ member, from: text(from), to: text(to) })) }
    : {}),
})
const text = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
/** A secret of the document is not printed: the output may be kept in the log of a pipeline. */
const masked = (value: unknown): unknown =>
  value === undefined
    ? undefined
    : JSON.parse(JSON.stringify(value, (name, each) => (name === 'authorization_header' ? '***' : each)))

/** Kinds by name, for commands that take some. Throws UsageError for another word. */
export function kindsNamed(names: readonly string[]): Kind[] {
  const kinds = KINDS.filter(({ name }) => names.length === 0 || names.includes(name))
  const unknown = names.filter((name) => !kindNamed(name))
  if (unknown.length > 0)
    throw new UsageError(`--only takes ${KINDS.map(({ name }) => name).join(', ')}; not ${unknown.join(', ')}`)
  return kinds
}
