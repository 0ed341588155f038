// The form of results: at most 25 KB, and texts from outside are marked as data.
import { clip } from '../lib/bounded.ts'
import { isObject } from '../lib/json.ts'
import { branchOf, isOwnText, type ObjectSchema, type SchemaPart } from './schema.ts'

/** Bytes of a result. */
const MAX_RESULT = 25 * 1024

/** How much of a result is shown: characters of a text from outside, and items of a list, or members of a record without declared members. */
interface Limits {
  texts: number
  items: number
}
const NO_LIMITS: Limits = { texts: Number.POSITIVE_INFINITY, items: Number.POSITIVE_INFINITY }
const FIRST: Limits = { texts: 4096, items: 200 }
/** With these only the declared members are left, so that every result fits. */
const LEAST: Limits = { texts: 16, items: 0 }
/** A text of this length may be an id, a URL or a name: it is cut by LEAST only. */
const SHORT = 64

const halved = ({ texts, items }: Limits): Limits => ({
  texts: Math.max(SHORT, Math.ceil(texts / 2)),
  items: Math.ceil(items / 2),
})

/** The limits, each narrower than the one before. */
function* narrowing(): Generator<Limits> {
  let limits = FIRST
  for (; limits.items > 1; limits = halved(limits)) yield limits
  yield limits
  yield LEAST
}

const sizeOf = (result: object): number => Buffer.byteLength(JSON.stringify(result))

/** The part of the whole result that fits. 1: it fits as it is. */
export const fittingShare = (result: Record<string, unknown>, words: ObjectSchema): number =>
  Math.min(1, MAX_RESULT / sizeOf(shownWithin(result, words, NO_LIMITS)))

/**
 * A result as agents get it. `from_outside` names the members with texts from outside, and characters that people do not see are shown as
 * their code point: an instruction could be written in them. Long texts and lists are cut until the result fits.
 */
export function present(result: Record<string, unknown>, words: ObjectSchema): Record<string, unknown> {
  const whole = shownWithin(result, words, NO_LIMITS)
  if (sizeOf(whole) <= MAX_RESULT) return whole
  for (const limits of narrowing()) {
    const shown = { ...shownWithin(result, words, limits), shortened: true }
    if (sizeOf(shown) <= MAX_RESULT) return shown
  }
  throw new Error(`the declared members of a result have more than ${MAX_RESULT} bytes`)
}

function shownWithin(result: object, words: ObjectSchema, limits: Limits): Record<string, unknown> {
  const view = new View(limits)
  const shown = view.show(result, words, '') as Record<string, unknown>
  return view.outside.size > 0 ? { ...shown, from_outside: [...view.outside] } : shown
}

/** The path of a member. Undefined inside of a member that is marked. */
type Path = string | undefined

/** Shows the values of one result within limits, and collects the paths of the members from outside. Every path is a declared one, so that there are few. */
class View {
  readonly outside = new Set<string>()
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
  }

  show(value: unknown, schema: SchemaPart | undefined, path: Path): unknown {
    if (typeof value === 'string') return this.text(value, schema, path)
    if (Array.isArray(value)) {
      const at = path === undefined ? path : `${path}[]`
      return value.slice(0, this.limits.items).map((each) => this.show(each, schema?.items, at))
    }
    if (!isObject(value)) return value
    const branch = branchOf(schema, value)
    return branch?.properties ? this.declared(value, branch.properties, path) : this.record(value, branch, path)
  }

  private text(value: string, schema: SchemaPart | undefined, path: Path): string {
    if (isOwnText(schema, value)) return value
    if (value !== '') this.mark(path)
    return this.cut(value)
  }

  /** Characters that become visible make the text longer. */
  private cut(text: string): string {
    return clip(visible(clip(text, this.limits.texts)), this.limits.texts)
  }

  /** Members that are not declared are left out: clients refuse a result that does not have its schema. */
  private declared(value: Record<string, unknown>, properties: Record<string, SchemaPart>, path: Path): object {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name, each]) => Object.hasOwn(properties, name) && each !== undefined)
        .map(([name, each]) => {
          const at = path === '' ? name : path === undefined ? path : `${path}.${name}`
          return [name, this.show(each, properties[name], at)]
        }),
    )
  }

  /** The names of a record come from outside too, so that it is marked as a whole. */
  private record(value: Record<string, unknown>, schema: SchemaPart | undefined, path: Path): object {
    const entries = Object.entries(value)
    const isMarked = schema?.own !== true
    if (isMarked && entries.length > 0) this.mark(path)
    const { additionalProperties: rest } = schema ?? {}
    const inner = typeof rest === 'object' ? rest : undefined
    return Object.fromEntries(
      entries
        .slice(0, this.limits.items)
        .map(([name, each]) => [this.cut(name), this.show(each, inner, isMarked ? undefined : path)]),
    )
  }

  /** A list of texts is marked as one member. */
  private mark(path: Path): void {
    if (path !== undefined) this.outside.add(path.replace(/(\[\])+$/, ''))
  }
}

/** Controls except line breaks and tabs, lone surrogates, and every character that is not shown or that reorders others. */
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u2800\ufff9-\ufffb\p{Surrogate}\p{Default_Ignorable_Code_Point}]/gu

/** A text in which every character can be seen. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`)
