// The log: one event per line, JSON or text. Secrets are not passed to it; objects are logged by named fields only.
import pino from 'pino'
import type { Config } from '../config/schema.ts'
import { codeOf } from '../lib/error.ts'
import type { Secret } from '../lib/secret.ts'
import { redactFields, redactText } from './redact.ts'
import { withSourcePlaces } from './source_place.ts'

/** Types that may be a field of a line: all except the secrets of the configuration. */
export type Loggable<F> = { readonly [K in keyof F]: F[K] extends Secret ? never : F[K] }

interface Log {
  <F extends object>(fields: Loggable<F>, message: string): void
  (message: string): void
}
/** The interface of the log: fields by name, then the message. */
export interface Logger extends Record<'debug' | 'info' | 'warn' | 'error', Log> {
  isLevelEnabled(level: 'debug' | 'info' | 'warn' | 'error'): boolean
  /** The lowest level that is logged. A reload of the configuration sets it. */
  level: string
}

/** A line of the log, for another output. */
export interface LogEvent {
  level: string
  /** RFC 3339. */
  time: string
  msg: string
  fields: Record<string, unknown>
}

/** Buffer for lines while standard output cannot be written to. Lines beyond it are lost. */
const UNWRITTEN_CHARACTERS = 1024 * 1024

/** Opens the log as configured. Lines are written synchronously, so that none is lost when the process ends. */
export function openLogger(config: Config['observability']['logging'], send?: (event: LogEvent) => void): Logger {
  const stdout = config.outputs.stdout
    ? pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_CHARACTERS })
    : undefined
  // A full disk does not end the service: the lines are written when there is space again.
  stdout?.on('error', () => {})
  const format = config.format === 'text' ? asText : (line: string) => line
  const destination = {
    write(written: string) {
      const line = redactText(written)
      stdout?.write(printable(format(line)))
      send?.(eventOf(line))
    },
  }
  return pino(
    {
      level: stdout || send ? config.level : 'silent',
      base: undefined,
      messageKey: 'msg',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }), log: redactFields },
      serializers: { err: describeError },
      ...(config.add_source ? { mixin: () => ({ source: callSite() }) } : {}),
    },
    destination,
  )
}

/** An error as fields of a log line: its name, message, code and causes, and the stack of an error that no condition outside of the program explains. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    code: (error as { code?: unknown }).code,
    ...(isExpected(error) ? {} : { stack: withSourcePlaces(stack ?? '') }),
    ...(cause ? { cause: describeError(cause) } : {}),
  }
}

/** Errors of the system, such as a port in use, and refusals with a reason, such as a failed fetch. Their place in the program explains nothing. */
const isExpected = (error: Error): boolean =>
  /^E[A-Z]+$/.test(codeOf(error) ?? '') || ('reason' in error && typeof error.reason === 'string')

function eventOf(line: string): LogEvent {
  const { time, level, msg = '', ...fields } = JSON.parse(line) as Omit<LogEvent, 'fields'> & Record<string, unknown>
  return { time, level, msg, fields }
}

/** Characters that JSON does not escape: control characters beyond ASCII, and characters that some readers treat as line ends. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029]/g
const printable = (line: string) =>
  line.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

function asText(line: string): string {
  const { time, level, msg, fields: named } = eventOf(line)
  const fields = Object.entries(named).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`,
  )
  return `${time} ${level.toUpperCase().padEnd(5)} ${JSON.stringify(msg).slice(1, -1)}${fields.join('')}\n`
}
const quoted = (value: string) => (/^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value))

function callSite(): string {
  const frames = withSourcePlaces(new Error().stack ?? '')
    .split('\n')
    .slice(1)
  const frame = frames.find((each) => !each.includes('/pino/') && !each.includes('telemetry/logger'))
  // Unknown for code without a source map, such as a bundle that was replaced while it runs.
  return /([^\s(]+\.ts:\d+)\)?$/.exec(frame ?? '')?.[1] ?? 'unknown'
}
