// Functions that declare configuration keys.
import { z } from 'zod'
import {
  bool,
  duration,
  float,
  hostInList,
  int,
  linkUrl,
  list,
  readableColor,
  slug,
  text,
  url,
  word,
} from '../lib/field.ts'
import { putSecret, type Secret } from '../lib/secret.ts'

export interface Key<T = unknown> {
  /** Marks a leaf of the schema. */
  readonly isKey: true
  readonly type: z.ZodType<T>
  /** The name of the written form: duration, bool, list, … */
  readonly form: string
  /** The default as it would be written in YAML; undefined means unset. */
  readonly default: unknown
  readonly doc: string
  /** Names of environment variables in addition to the one that is derived from the path; null means that there is none. */
  readonly env: readonly string[] | null
  readonly secret: boolean
  /** The problem of a key that is written in the file without a value. Default: the key has its default. */
  readonly whenNull?: string
  /** Members of its records that are never shown. */
  readonly masked?: readonly string[]
  /** The keys of the members of its records, where they were declared as keys; `id` names the member that identifies a record. */
  readonly records?: { readonly id: string; readonly members: Readonly<Record<string, Key>> }
  /** JSON Schema of the written form, for editors. */
  readonly json: object
}

interface Options<D> {
  default?: D
  env?: readonly string[] | null
}

/** A key without its text. */
interface Declared<K extends Key> {
  describe(doc: string): K
}

const make = <T, More extends Partial<Key> = object>(
  form: string,
  type: z.ZodType<T>,
  json: object,
  options: Options<unknown>,
  more?: More,
): Declared<Key<T> & More> => ({
  describe: (doc) => ({
    isKey: true,
    type,
    form,
    default: options.default,
    doc,
    env: options.env === undefined ? [] : options.env,
    secret: false,
    json,
    ...(more as More),
  }),
})
const SECRET = { secret: true }
const TEXT = { type: 'string' }

export const boolKey = (o: Options<boolean> & { default: boolean }) => make('bool', bool(), { type: 'boolean' }, o)
export const intKey = (o: Options<number> & { default: number; min: number; max: number }) =>
  make(`int ${o.min} to ${o.max}`, int(o.min, o.max), { type: 'integer', minimum: o.min, maximum: o.max }, o)
export const floatKey = (o: Options<number> & { default: number; min: number; max: number }) =>
  make(`number ${o.min} to ${o.max}`, float(o.min, o.max), { type: 'number', minimum: o.min, maximum: o.max }, o)
/** `min` (a second by default) and `max` are seconds; the value in the Config is seconds too. */
export const durationKey = (o: Options<string> & { default: string; min?: number; max?: number }) =>
  make('duration', duration(o.min ?? 1, o.max), { ...TEXT, examples: ['10s', '5m', '1h'] }, o)
/** A duration, or `auto`: other keys determine it. */
export const autoDurationKey = () =>
  make(
    'duration | auto',
    z.union([z.literal('auto'), duration(0)], 'must be a duration such as 10s, or auto'),
    { ...TEXT, examples: ['auto', '0s', '10s'] },
    { default: 'auto' },
  )
export const wordKey = <const W extends readonly [string, ...string[]]>(
  o: Options<W[number]> & { of: W; default: W[number] },
): Declared<Key<W[number]>> => make(o.of.join(' | '), word(o.of), { enum: o.of }, o)
export const textKey = ({ max = 4096, ...o }: Options<string> & { max?: number } = {}) =>
  make('string', text(max), TEXT, { default: '', ...o })
export const urlKey = (o: Options<string> = {}) =>
  make(
    'URL',
    z.union([z.literal(''), url()], 'must be a well-formed http or https URL'),
    { ...TEXT, format: 'uri' },
    { default: '', ...o },
  )
/** A color that can be read on each of the colors `against`, and each of them on it. It may be empty if that is its default. */
export const colorKey = ({ against, ...o }: Options<string> & { default: string; against: readonly string[] }) =>
  make(
    'color such as #2456d3',
    readableColor(against, o.default === ''),
    { ...TEXT, pattern: '^(#[0-9A-Fa-f]{6})?$' },
    o,
    { whenNull: 'has no value: write the color in quotes, such as "#2456d3", because # begins a comment in YAML' },
  )
/** A link for users. */
export const linkKey = () =>
  make(
    'https or mailto URL',
    z.union([z.literal(''), linkUrl()], 'must be a well-formed https or mailto URL'),
    { ...TEXT, format: 'uri' },
    { default: '' },
  )
/** A text for users, or a link. */
export const helpKey = () =>
  make(
    'text, or https or mailto URL',
    text(500).refine(
      (value) => !/^(https?|mailto):/i.test(value) || linkUrl().safeParse(value).success,
      'must be a text, or a well-formed https or mailto URL',
    ),
    TEXT,
    { default: '' },
  )
export const secretKey = (o: Options<never> & { minBytes?: number } = {}) =>
  make(
    o.minBytes ? `secret, ${o.minBytes} bytes or more` : 'secret',
    text(4096).refine(
      (value) => value === '' || Buffer.byteLength(value) >= (o.minBytes ?? 0),
      `must be at least ${o.minBytes} bytes`,
    ) as z.ZodType as z.ZodType<Secret>,
    TEXT,
    { ...o, default: '' },
    SECRET,
  )
/** A list of secrets. In a variable, or in the file that it names, commas or newlines separate them. */
export const secretsKey = ({ minBytes, ...o }: Options<never> & { minBytes: number }) =>
  make(
    `list of secrets, ${minBytes} bytes or more each`,
    z.preprocess(
      (value) => (typeof value === 'string' ? value.replaceAll(/\r?\n/g, ',') : value),
      list(text(4096).refine((value) => Buffer.byteLength(value) >= minBytes, `must be at least ${minBytes} bytes`)),
    ) as z.ZodType as z.ZodType<Secret[]>,
    { type: 'array', items: TEXT },
    { ...o, default: [] },
    SECRET,
  )
export const listKey = (o: Options<string[]> = {}) =>
  make('list', list(), { type: 'array', items: TEXT }, { default: [], ...o })
/** What a list of hosts contains, for its description. */
export const HOSTS_FORM =
  'Each entry is a host name, an address or a CIDR range. The first label of a host name may be *, which stands for any label. A metadata or link-local address is allowed only by an entry that is this address.'
/** Hosts in private networks that outgoing requests may reach. Empty by default. */
export const hostsKey = () =>
  make('list', list(hostInList()) as z.ZodType<string[]>, { type: 'array', items: TEXT }, { default: [] })
/** A name in URLs; it has no default. */
export const slugKey = () => make('slug', slug() as z.ZodType<string>, TEXT, {})

/** A list of records, which has no environment variable of its own. */
const recordList = <T, More extends Partial<Key>>(type: z.ZodType<T[]>, items: object, more: More) =>
  make('list of records', type, { type: 'array', items }, { default: [], env: null }, more)
/** A list of records. The members that are `masked` are never shown. */
export const recordsKey = <T>(item: z.ZodType<T>, masked?: readonly string[]) =>
  recordList(z.array(item, 'must be a list'), z.toJSONSchema(item, { io: 'input', unrepresentable: 'any' }), { masked })

type Members = Readonly<Record<string, Key>>
/**
 * A list of records whose members are declared as keys, with the same types, defaults and secrets. The member `id` is unique and none of
 * `reserved`. A variable that is named after the list, the id and the member sets one member.
 */
export const keyedRecordsKey = <K extends Members>(
  members: K,
  { id, reserved }: { id: keyof K & string; reserved: readonly string[] },
) => {
  const masked = Object.keys(members).filter((name) => members[name]?.secret)
  const type = z.array(recordOf(members), 'must be a list').superRefine((records, context) =>
    refuseTwins(
      records.map((record) => String(record[id])),
      { id, reserved },
      context,
    ),
  )
  return recordList(type, jsonOf(members), { masked, records: { id, members } })
}

const recordOf = <K extends Members>(members: K): z.ZodType<Infer<K>> => {
  const types = Object.entries(members).map(([name, { type, default: fallback }]) => [
    name,
    fallback === undefined ? type : type.prefault(fallback),
  ])
  return z.strictObject(Object.fromEntries(types)).transform((record) => {
    for (const [name, { secret }] of Object.entries(members)) if (secret) putSecret(record, name, record[name])
    return record as Infer<K>
  })
}

function refuseTwins(
  ids: readonly string[],
  { id, reserved }: { id: string; reserved: readonly string[] },
  context: z.RefinementCtx,
): void {
  for (const [i, each] of ids.entries()) {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: [i, id], message })
    if (reserved.includes(each)) refuse(`must not be ${each}, which is reserved`)
    if (ids.indexOf(each) < i) refuse(`must be unique: ${each} is used twice`)
  }
}

const jsonOf = (members: Members): object => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(members).filter((name) => members[name]?.default === undefined),
  properties: Object.fromEntries(
    Object.entries(members).map(([name, { json, doc, default: fallback }]) => [
      name,
      { description: doc, ...(fallback === undefined ? {} : { default: fallback }), ...json },
    ]),
  ),
})

export type ConfigSchema = { readonly [name: string]: Key | ConfigSchema }
export type Infer<S> = { -readonly [K in keyof S]: S[K] extends Key<infer T> ? T : Infer<S[K]> }

/** Every key of a schema with its dotted path, in order of declaration. */
export function* keysOf(
  schema: ConfigSchema,
  at: readonly string[] = [],
): Generator<{ path: readonly string[]; key: Key }> {
  for (const [name, entry] of Object.entries(schema)) {
    if (isConfigKey(entry)) yield { path: [...at, name], key: entry }
    else yield* keysOf(entry, [...at, name])
  }
}
export const isConfigKey = (entry: ConfigSchema[string]): entry is Key => (entry as Key).isKey === true

/** The value of a key. */
export const valueAt = (config: object, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config)

/** Sets the value of a key, and makes the groups above it. */
export function putAt(config: object, path: readonly string[], value: unknown, secret = false): void {
  let at = config as Record<string, unknown>
  for (const part of path.slice(0, -1)) {
    at[part] ??= {}
    at = at[part] as Record<string, unknown>
  }
  const name = path.at(-1) as string
  if (secret) putSecret(at, name, value)
  else at[name] = value
}

/** The environment variables that set a key, the regular one first. */
export const envNames = (path: readonly string[], key: Key): string[] =>
  key.env === null ? [] : [`SERVICE_${path.join('_').toUpperCase()}`, ...key.env.map((name) => `SERVICE_${name}`)]

/** The variable that sets one member of a record. */
export const memberVariable = (path: readonly string[], id: string, member: string): string =>
  `SERVICE_${[...path, id, member].join('_').toUpperCase().replaceAll('-', '_')}`
