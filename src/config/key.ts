// The kit that configuration keys are declared with.
import { z } from 'zod'
import { bool, duration, float, int, list, text, url, word } from '../lib/field.ts'
import type { Secret } from '../lib/secret.ts'

export interface Key<T = unknown> {
  /** Marks a leaf of the schema. */
  readonly isKey: true
  readonly type: z.ZodType<T>
  /** What a person writes: duration, bool, list, … */
  readonly form: string
  /** The default as it would be written in YAML; undefined means unset. */
  readonly default: unknown
  readonly doc: string
  /** Names of environment variables beside the one that follows from the path; null means none at all. */
  readonly env: readonly string[] | null
  readonly secret: boolean
  /** Members of its records that are never shown. */
  readonly masked?: readonly string[]
  /** JSON Schema of the written form, for editors. */
  readonly json: object
}

interface Options<D> {
  default?: D
  doc: string
  env?: readonly string[] | null
}

const make = <T>(
  form: string,
  type: z.ZodType<T>,
  json: object,
  options: Options<unknown>,
  secret = false,
): Key<T> => ({
  isKey: true,
  type,
  form,
  default: options.default,
  doc: options.doc,
  env: options.env === undefined ? [] : options.env,
  secret,
  json,
})

export const boolKey = (o: Options<boolean> & { default: boolean }) => make('bool', bool(), { type: 'boolean' }, o)
export const intKey = (o: Options<number> & { default: number; min: number; max: number }) =>
  make(`int ${o.min} to ${o.max}`, int(o.min, o.max), { type: 'integer', minimum: o.min, maximum: o.max }, o)
export const floatKey = (o: Options<number> & { default: number; min: number; max: number }) =>
  make(`number ${o.min} to ${o.max}`, float(o.min, o.max), { type: 'number', minimum: o.min, maximum: o.max }, o)
/** `min` (a second by default) and `max` are seconds; the value in the Config is seconds too. */
export const durationKey = (o: Options<string> & { default: string; min?: number; max?: number }) =>
  make('duration', duration(o.min ?? 1, o.max), { type: 'string', examples: ['10s', '5m', '1h'] }, o)
export const wordKey = <const W extends readonly [string, ...string[]]>(
  o: Options<W[number]> & { of: W; default: W[number] },
): Key<W[number]> => make(o.of.join(' | '), word(o.of), { enum: o.of }, o)
export const textKey = (o: Options<string>) => make('string', text(4096), { type: 'string' }, { default: '', ...o })
export const urlKey = (o: Options<string>) =>
  make(
    'URL',
    z.union([z.literal(''), url()], 'must be a well-formed http or https URL'),
    { type: 'string', format: 'uri' },
    { default: '', ...o },
  )
export const secretKey = (o: Options<never> & { minBytes?: number }) =>
  make(
    o.minBytes ? `secret, ${o.minBytes} bytes or more` : 'secret',
    text(4096).refine(
      (value) => value === '' || Buffer.byteLength(value) >= (o.minBytes ?? 0),
      `must be at least ${o.minBytes} bytes`,
    ),
    { type: 'string' },
    { ...o, default: '' },
    true,
  ) as Key<Secret>
export const listKey = (o: Options<string[]>) =>
  make('list', list(), { type: 'array', items: { type: 'string' } }, { default: [], ...o })
/** A list of records; it has no environment variable of its own. */
export const recordsKey = <T>(
  item: z.ZodType<T>,
  { masked, ...o }: Options<never> & { masked?: readonly string[] },
) => ({
  ...make(
    'list of records',
    z.array(item, 'must be a list'),
    { type: 'array', items: z.toJSONSchema(item, { io: 'input', unrepresentable: 'any' }) },
    { ...o, default: [], env: null },
  ),
  masked,
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

/** The environment variables that set a key, the regular one first. */
export const envNames = (path: readonly string[], key: Key): string[] =>
  key.env === null ? [] : [`SERVICE_${path.join('_').toUpperCase()}`, ...key.env.map((name) => `SERVICE_${name}`)]
