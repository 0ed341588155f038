// Built-in defaults < YAML file < environment. All problems are reported together, each with its key.
import { readFileSync } from 'node:fs'
import { commaParts } from '../lib/csv.ts'
import { issuesOf } from '../lib/field.ts'
import { isObject } from '../lib/json.ts'
import { type Env, fileVariable, SecretFileError, secretVariable } from './env.ts'
import { type ConfigSchema, envNames, isConfigKey, type Key, keysOf, memberVariable, putAt, valueAt } from './key.ts'
import type { Rule } from './rule.ts'
import { RULES } from './rules.ts'
import { type Config, schema } from './schema.ts'
import { parseYaml } from './yaml.ts'

export interface ConfigProblem {
  key: string
  message: string
}

/** The configuration cannot be used. `problems` names every key. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]
  constructor(problems: readonly ConfigProblem[]) {
    super(`the configuration is not valid: ${problems.map(({ key, message }) => `${key} ${message}`).join('; ')}`)
    this.problems = problems
  }
}

export interface LoadedConfig {
  config: Config
  /** Settings that are present but have no effect. */
  warnings: string[]
  /** The keys that the file or the environment set. */
  given: ReadonlySet<string>
}

/** Reads the file (if any) and the environment. Throws ConfigError. */
export function loadConfig(file: string | undefined, env: Env): LoadedConfig {
  const written = file === undefined ? {} : readYaml(file)
  const problems = unknownKeys(schema, written)
  const config = {}
  const broken: string[] = []
  const given = new Set<string>()
  for (const { path, key } of keysOf(schema)) {
    const found = noting(problems, () => findValue(path, key, written, env))
    const result = found ? read(key, found.value) : { issues: [] }
    if (found?.value !== undefined && found.value !== null) given.add(path.join('.'))
    if ('value' in result) putAt(config, path, result.value, key.secret)
    else {
      for (const issue of result.issues) problems.push({ key: found?.from + join(issue.path), message: issue.message })
      // The rules see the default, so that one wrong value does not hide other problems.
      putAt(config, path, key.type.safeParse(key.default).data, key.secret)
      broken.push(path.join('.'))
    }
  }
  addEnvResource(config as Config, env, problems)
  checkRules(config as Config, env, broken, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return { config: config as Config, warnings: strayVariables(env), given }
}

function readYaml(file: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError([{ key: file, message: `cannot be read: ${(error as Error).message}` }])
  }
  const read = parseYaml(text, file)
  if ('faults' in read) throw new ConfigError(read.faults.map(({ at, message }) => ({ key: at, message })))
  const { value } = read
  if (value === undefined) return {}
  if (!isObject(value)) throw new ConfigError([{ key: file, message: 'must be a mapping of keys to values' }])
  return value
}

const join = (path: string) => (path === '' || path.startsWith('[') ? path : `.${path}`)

function unknownKeys(known: ConfigSchema, written: Record<string, unknown>, at = ''): ConfigProblem[] {
  return Object.entries(written).flatMap(([name, value]) => {
    const entry = Object.hasOwn(known, name) ? known[name] : undefined
    const key = at ? `${at}.${name}` : name
    if (!entry) {
      const near = nearest(name, Object.keys(known))
      return [{ key, message: `is not a key${near ? `; did you mean ${at ? `${at}.` : ''}${near}?` : ''}` }]
    }
    if (isConfigKey(entry) || value === null || value === undefined) return []
    return isObject(value) ? unknownKeys(entry, value, key) : [{ key, message: 'must be a mapping of keys to values' }]
  })
}

/** The environment has precedence over the file. An empty variable counts as unset. */
function findValue(
  path: readonly string[],
  key: Key,
  written: Record<string, unknown>,
  env: Env,
): { value: unknown; from: string } {
  const name = path.join('.')
  for (const variable of envNames(path, key)) {
    const text = textOf(env, variable, key)
    if (text) return { value: text, from: `${name} (${variable})` }
  }
  let value: unknown = written
  for (const part of path) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  return { value: withVariables(path, key, value, env), from: name }
}

const textOf = (env: Env, variable: string, key?: Key): string | undefined =>
  key?.secret ? secretVariable(env, variable) : env[variable]

/** The records of a list with the members that variables set. */
function withVariables(path: readonly string[], { records }: Key, value: unknown, env: Env): unknown {
  if (!records || !Array.isArray(value)) return value
  return value.map((record: unknown) => {
    if (!isObject(record)) return record
    const set = Object.keys(records.members).flatMap((member) => {
      const variable = memberVariable(path, String(record[records.id]), member)
      const text = textOf(env, variable, records.members[member])
      return text ? [[member, text]] : []
    })
    return { ...record, ...Object.fromEntries(set) }
  })
}

const UNEXPANDED = 'contains a variable that was not expanded'
/** Whether a value, or a value inside it, contains `${NAME}`. */
const isUnexpanded = (value: unknown) => /\$\{[^}]*\}/.test(JSON.stringify(value) ?? '')

type Read = { value: unknown } | { issues: { path: string; message: string }[] }

function read(key: Key, value: unknown): Read {
  if (isUnexpanded(value)) return { issues: [{ path: '', message: UNEXPANDED }] }
  if (value === null && key.whenNull) return { issues: [{ path: '', message: key.whenNull }] }
  const result = key.type.safeParse(value ?? key.default)
  return result.success ? { value: result.data } : { issues: issuesOf(result.error) }
}

/** SERVICE_RESOURCE_URI and SERVICE_RESOURCE_SCOPES describe one mint resource; its slug is derived from the host. If the file has the same resource, they replace its scopes. */
function addEnvResource(config: Config, env: Env, problems: ConfigProblem[]): void {
  const uri = env['SERVICE_RESOURCE_URI']
  if (!uri) return
  for (const key of ['SERVICE_RESOURCE_URI', 'SERVICE_RESOURCE_SCOPES'])
    if (isUnexpanded(env[key])) return void problems.push({ key, message: UNEXPANDED })
  const host = URL.canParse(uri) ? new URL(uri).hostname : ''
  const slug =
    host
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 64) || 'resource'
  const scopes = commaParts(env['SERVICE_RESOURCE_SCOPES'] ?? '').map((name) => ({ name }))
  const result = schema.resources.type.safeParse([
    { slug, uri, backend_kind: 'mint', display_name: host || slug, scopes },
  ])
  if (!result.success) {
    for (const issue of issuesOf(result.error))
      problems.push({
        key: issue.path.includes('scopes') ? 'SERVICE_RESOURCE_SCOPES' : 'SERVICE_RESOURCE_URI',
        message: issue.message,
      })
    return
  }
  const twin = config.resources.find((each) => each.uri === uri)
  if (!twin) config.resources.push(...result.data)
  else if (scopes.length > 0) twin.scopes = result.data[0]?.scopes ?? []
}

/** Adds the violated rules to the problems. Rules that concern a broken key are not checked. */
function checkRules(config: Config, env: Env, broken: readonly string[], problems: ConfigProblem[]): void {
  for (const rule of RULES) {
    if (rule.keys.some((key) => broken.some((each) => key.startsWith(each)))) continue
    if (noting(problems, () => rule.bad(config, env)))
      problems.push({ key: rule.keys.join(', '), message: rule.message + variableOf(rule, config) })
  }
}

const variableOf = ({ variable }: Rule, config: Config): string => {
  const name = variable?.(config)
  return name ? ` (it names ${name})` : ''
}

/** The result, or undefined with one problem for each file of a secret that cannot be used. */
function noting<T>(problems: ConfigProblem[], find: () => T): T | undefined {
  try {
    return find()
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error
    const { variable: key, problem: message } = error
    if (!problems.some((each) => each.key === key)) problems.push({ key, message })
    return undefined
  }
}

/** A misspelt SERVICE_ variable would silently have no effect. */
function strayVariables(env: Env): string[] {
  const known = [...keysOf(schema)].flatMap(({ path, key }) => {
    const names = envNames(path, key)
    return key.secret ? [...names, ...names.map(fileVariable)] : names
  })
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('SERVICE_') || known.includes(name)) return []
    const near = nearest(name, known)
    return near ? [`${name} is not a known variable; did you mean ${near}?`] : []
  })
}

const MAX_EDITS = 3
/** The known word with the smallest edit distance: at most three edits, and half of the length of the word. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const most = Math.min(MAX_EDITS, word.length / 2)
  const scored = known.map((each) => ({ each, edits: editDistance(word, each) })).filter(({ edits }) => edits <= most)
  return scored.sort((a, b) => a.edits - b.edits)[0]?.each
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next[j] = Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1)
    }
    row = next
  }
  return row[b.length] as number
}

const MASK = '***'
const isSet = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value))
const masked = (value: unknown, members: readonly string[] = []): unknown =>
  members.length > 0 && Array.isArray(value)
    ? value.map((each) => ({ ...each, ...Object.fromEntries(members.map((member) => [member, MASK])) }))
    : value

/** The effective configuration with every secret replaced: `***` when set, empty when not. */
export function redacted(
  config: Config,
  shownDuration: (seconds: number) => unknown = Number,
): Record<string, unknown> {
  const shown = {}
  for (const { path, key } of keysOf(schema)) {
    const value = valueAt(config, path)
    const open = key.form === 'duration' ? shownDuration(Number(value)) : masked(value, key.masked)
    putAt(shown, path, key.secret && isSet(value) ? MASK : open)
  }
  return shown
}
