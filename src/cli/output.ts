// What commands print: key=value lines or JSON on standard output, `error: ` lines on standard error.
import { ConfigError } from '../config/load.ts'
import { OAuthError } from '../lib/error.ts'

/** A command line that cannot be carried out as written; one message per fault. */
export class UsageError extends Error {
  readonly faults: readonly string[]
  constructor(...faults: string[]) {
    super(faults.join('; '))
    this.faults = faults
  }
}

/** Prints an answer: as JSON, or as lines with a blank one between the items of a list. Nothing for nothing. */
export function print(answer: unknown, asJson: boolean | undefined): void {
  if (answer === undefined) return
  const text = asJson ? JSON.stringify(answer) : asText(answer)
  if (text !== '') process.stdout.write(`${text}\n`)
}

/** Prints what went wrong, a line for each fault. */
export function printError(error: unknown): void {
  for (const fault of faultsOf(error)) process.stderr.write(`error: ${fault}\n`)
}

/** `key=value` lines; lists of plain values are joined by commas, members of objects are `a.b`, of lists of objects `a[0].b`. */
export const asText = (answer: unknown): string =>
  Array.isArray(answer) ? answer.map((item) => lines(item).join('\n')).join('\n\n') : lines(answer).join('\n')

function lines(value: unknown, key = ''): string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && !value.some(isRecord)) return [`${key}=${value.join(',')}`]
  if (Array.isArray(value)) return value.flatMap((item, i) => lines(item, `${key}[${i}]`))
  if (isRecord(value))
    return Object.entries(value).flatMap(([name, member]) => lines(member, key ? `${key}.${name}` : name))
  return [`${key}=${String(value)}`]
}
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key} ${message}`)
  if (error instanceof UsageError) return error.faults
  if (!(error instanceof Error)) return [String(error)]
  const cause = error instanceof OAuthError ? error.more.cause : undefined
  return [cause instanceof Error ? `${error.message}: ${cause.message}` : error.message]
}
