// Loggers for tests: one stores its lines, one discards them.
import pino from 'pino'
import { vi } from 'vitest'
import type { Logger } from '../../src/telemetry/logger.ts'

export interface RecordingLog {
  log: Logger
  lines: Record<string, unknown>[]
}

/** A logger that stores its lines, parsed. */
export function recordingLog(level = 'debug'): RecordingLog {
  const lines: Record<string, unknown>[] = []
  return { lines, log: pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) }) }
}

/** The log of a service from now on, at every level, until its spies are restored. */
export function watchLog(log: Logger): unknown[] {
  const lines: unknown[] = []
  vi.spyOn(log, 'isLevelEnabled').mockReturnValue(true)
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(log, level).mockImplementation((...line: unknown[]) => void lines.push(line))
  return lines
}

export const silentLog: Logger = pino({ level: 'silent' })
