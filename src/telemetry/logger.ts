// The log: one event a line, JSON or text, whatever the input. Secrets never get here; objects are logged by named fields only.
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import type { Config } from '../config/schema.ts'

export type Logger = pino.Logger

/** Opens the log as configured. Lines are written synchronously, so that none is lost when the process ends. */
export function openLogger(config: Config['observability']['logging']): Logger {
  const stdout = pino.destination({ dest: 1, sync: true })
  const destination = config.format === 'text' ? { write: (line: string) => void stdout.write(asText(line)) } : stdout
  return pino(
    {
      level: config.outputs.stdout ? config.level : 'silent',
      base: undefined,
      messageKey: 'msg',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: describeError },
      ...(config.add_source ? { mixin: () => ({ source: callSite() }) } : {}),
    },
    destination,
  )
}

/** An error as fields of a log line: its name, message, code, stack and causes. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    code: (error as { code?: unknown }).code,
    stack,
    ...(cause ? { cause: describeError(cause) } : {}),
  }
}

function asText(line: string): string {
  const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`,
  )
  return `${time} ${String(level).toUpperCase().padEnd(5)} ${JSON.stringify(msg ?? '').slice(1, -1)}${fields.join('')}\n`
}
const quoted = (value: string) => (/^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value))

function callSite(): string {
  const frames = (new Error().stack ?? '').split('\n').slice(1)
  const frame = frames.find((each) => !each.includes('/pino/') && !each.includes('telemetry/logger'))
  const found = /\(?((?:file:\/\/)?\/[^)]+):(\d+):\d+\)?$/.exec(frame ?? '')
  if (!found) return 'unknown'
  const file = (found[1] as string).startsWith('file:') ? fileURLToPath(found[1] as string) : (found[1] as string)
  return `${file.split('/').slice(-3).join('/')}:${found[2]}`
}
