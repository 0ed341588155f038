// Loggers for tests: one that keeps its lines, one that says nothing.
import pino from 'pino'
import type { Logger } from '../../src/telemetry/logger.ts'

export interface RecordingLog {
  log: Logger
  lines: Record<string, unknown>[]
}

/** A logger whose lines are kept, parsed. */
export function recordingLog(level = 'debug'): RecordingLog {
  const lines: Record<string, unknown>[] = []
  return { lines, log: pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) }) }
}

export const silentLog: Logger = pino({ level: 'silent' })
