// What a check of the set-up finds, and how it is said.

/** `warn` works but should not stay; `fail` does not work. */
export interface Finding {
  check: string
  result: 'ok' | 'warn' | 'fail'
  message: string
  /** What to do about it. */
  fix?: string
}

export const ok = (check: string, message: string): Finding => ({ check, result: 'ok', message })
export const warn = (check: string, message: string, fix: string): Finding => ({ check, result: 'warn', message, fix })
export const fail = (check: string, message: string, fix: string): Finding => ({ check, result: 'fail', message, fix })

/** A line for each finding, with what to do below it. */
export const findingsText = (findings: readonly Finding[]): string =>
  findings
    .map(
      ({ check, result, message, fix }) => `${result.padEnd(5)} ${check}: ${message}${fix ? `\n      -> ${fix}` : ''}`,
    )
    .join('\n')
