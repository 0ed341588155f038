// The output of commands: key=value lines or JSON on standard output, `error: ` lines on standard error.
import { ConfigError } from '../config/load.ts'
import { OAuthError } from '../lib/error.ts'

/** A faulty command line, with a message for each fault. */
export class UsageError extends Error {
  readonly faults: readonly string[]
  constructor(...faults: string[]) {
    super(faults.join('; '))
    this.faults = faults
  }
}

/** Exit codes. */
export const EXIT = { ok: 0, failed: 1, usage: 2, not_found: 3, conflict: 4, refused: 5 } as const
/** The exit code of a comparison that found differences, as `terraform plan -detailed-exitcode` has it. Such a command has no other code for a failure than `failed`. */
export const DIFFERS = 2
/** The meaning of each exit code. */
export const EXIT_MEANS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done.',
  failed:
    'The command failed, the configuration is not valid, or a check failed (`doctor`). For `admin diff`: every failure.',
  usage: 'The command line or a value in it is not valid. For `admin diff`: the set-up differs from the document.',
  not_found: 'The named item does not exist.',
  conflict: 'The item exists already, is in use, or is in the wrong state.',
  refused: 'The API key is wrong or lacks the capability, or there were too many requests.',
}

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage
  if (!(error instanceof OAuthError)) return EXIT.failed
  return EXIT_BY_STATUS[error.status] ?? EXIT.failed
}
const EXIT_BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.refused,
  403: EXIT.refused,
  404: EXIT.not_found,
  409: EXIT.conflict,
  429: EXIT.refused,
}

/** Prints an answer as JSON, or as lines with a blank line between the items of a list. Prints nothing for an empty answer. */
export function print(answer: unknown, asJson: boolean | undefined): void {
  if (answer === undefined) return
  const text = asJson ? JSON.stringify(answer) : asText(answer)
  if (text !== '') process.stdout.write(`${text}\n`)
}

/** Prints the problems of a configuration as a log event, because operators collect the log of `serve`. */
export function printProblems({ problems }: ConfigError): void {
  const event = { level: 'error', time: new Date().toISOString(), msg: 'the configuration is not valid', problems }
  process.stderr.write(`${JSON.stringify(event)}\n`)
}

/** Prints an error with its code (docs/reference/errors.md): one line for each problem, or one JSON object. */
export function printError(error: unknown, asJson = false): void {
  if (asJson) process.stderr.write(`${JSON.stringify(errorJson(error))}\n`)
  else for (const fault of faultsOf(error)) process.stderr.write(`error: ${fault}\n`)
}

/** An error as a program reads it. Errors without a code of the API have one of the command line. */
function errorJson(error: unknown): Record<string, unknown> {
  const error_description = faultsOf(error).join('; ')
  if (error instanceof OAuthError) {
    const { type, title, detail, status, ...members } = error.more.body ?? {}
    return { error: error.code, error_description: descriptionOf(error), ...members }
  }
  if (error instanceof UsageError) return { error: 'invalid_request', error_description }
  if (error instanceof ConfigError)
    return { error: 'invalid_configuration', error_description, problems: error.problems }
  return { error: 'failed', error_description }
}

/** `key=value` lines; lists of plain values are joined by commas, members of objects are `a.b`, of lists of objects `a[0].b`. */
export const asText = (answer: unknown): string =>
  Array.isArray(answer) ? answer.map(linesOf).join('\n\n') : linesOf(answer)

const linesOf = (item: unknown): string =>
  textPairs(item)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

/** The members of an item with their values as text, named as the lines of `asText` name them. */
export function textPairs(value: unknown, key = ''): [name: string, value: string][] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && !value.some(isRecord)) return [[key, value.join(',')]]
  if (Array.isArray(value)) return value.flatMap((item, i) => textPairs(item, `${key}[${i}]`))
  if (isRecord(value))
    return Object.entries(value).flatMap(([name, member]) => textPairs(member, key ? `${key}.${name}` : name))
  return [[key, String(value)]]
}
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** A message for each problem that an error consists of. */
export function faultsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key} ${message}`)
  if (error instanceof UsageError) return error.faults
  if (!(error instanceof Error)) return [String(error)]
  if (!(error instanceof OAuthError)) return [error.message]
  return [`${descriptionOf(error)} [${error.code}]`]
}

/** The message of an error with its cause. Some messages contain their cause already. */
function descriptionOf({ message, more: { cause } }: OAuthError): string {
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message
}
