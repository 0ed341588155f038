// Reads the set-up document and checks it as a whole before any change.
import { nearest } from '../../config/load.ts'
import { parseYaml } from '../../config/yaml.ts'
import { issuesOf } from '../../lib/field.ts'
import { isObject } from '../../lib/json.ts'
import { readText } from '../input.ts'
import { UsageError } from '../output.ts'
import { bodyOf, type Item, itemKey, KINDS, type Kind, membersOf } from './kinds.ts'

/** One item of a document. */
export interface WantedSetup {
  kind: Kind
  key: string
  /** The members that the document names, in the form of the admin API. */
  item: Item
}

/** The contents of a document. */
export interface SetupDocument {
  wanted: WantedSetup[]
  /** The kinds that it lists, with or without items. */
  kinds: Kind[]
}

const MAX_BYTES = 64 * 1024 * 1024

/** Reads a document of YAML or JSON; `-` is standard input. Throws UsageError that names every fault and its place. */
export async function readDocument(file: string): Promise<SetupDocument> {
  const read = parseYaml(await readText(file, MAX_BYTES), file)
  if ('faults' in read) throw new UsageError(...read.faults.map(({ at, message }) => `${at} ${message}`))
  const { value = {} } = read
  if (!isObject(value)) throw new UsageError(`${file} must hold ${KINDS.map(({ name }) => name).join(', ')}`)
  const faults = unknownMembers(
    value,
    KINDS.map(({ name }) => name),
    '',
  )
  const wanted = KINDS.flatMap((kind) => readKind(kind, value[kind.name], faults))
  if (faults.length > 0) throw new UsageError(...faults)
  return { wanted, kinds: KINDS.filter(({ name }) => Array.isArray(value[name])) }
}

function readKind(kind: Kind, value: unknown, faults: string[]): WantedSetup[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    faults.push(`${kind.name} must be a list`)
    return []
  }
  const members = membersOf(kind)
  const places = new Map<string, string>()
  return value.flatMap((item: unknown, i) => {
    const at = `${kind.name}[${i}]`
    const wrong = faultsOf(kind, members, item, at)
    faults.push(...wrong)
    if (wrong.length > 0 || !isObject(item)) return []
    const wanted = normal(kind, item)
    const key = itemKey(kind, wanted)
    const first = places.get(key)
    if (first) faults.push(`${at} is the same as ${first}: ${key}`)
    places.set(key, at)
    return [{ kind, key, item: wanted }]
  })
}

function faultsOf(kind: Kind, members: readonly string[], item: unknown, at: string): string[] {
  if (!isObject(item)) return [`${at} must be an object`]
  const { key, optional = [] } = kind
  const required = key.filter((name) => !optional.includes(name))
  const missing = required.filter((name) => item[name] === undefined).map((name) => `${at}.${name} is required`)
  const result = bodyOf(kind).safeParse(asBody(kind, item))
  const wrong = (result.error ? issuesOf(result.error) : []).map(
    ({ path, message }) => `${at}${path ? `.${path}` : ''} ${message}`,
  )
  return [...missing, ...unknownMembers(item, members, at), ...wrong]
}

function unknownMembers(item: Item, members: readonly string[], at: string): string[] {
  const unknown = Object.keys(item).filter((name) => !members.includes(name))
  return unknown.map((name) => {
    const near = nearest(name, members)
    return `${at}${at ? '.' : ''}${name} is not a member${near ? `; did you mean ${near}?` : ''}`
  })
}

/** The body for the admin API. A reference is kept as it is until the id is known. */
export function asBody({ reference }: Kind, item: Item, id?: string): Item {
  if (!reference) return item
  const { [reference.member]: named, ...rest } = item
  return { ...rest, [reference.field]: id ?? named }
}

/** The members that a document names, with short forms expanded. */
function normal(kind: Kind, item: Item): Item {
  const spelled = bodyOf(kind).parse(asBody(kind, item)) as Item
  const { reference } = kind
  return Object.fromEntries(
    Object.keys(item).map((name) => [name, name === reference?.member ? item[name] : spelled[name]]),
  )
}
