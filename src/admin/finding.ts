// The findings of `service doctor` and their text form.

/** `warn`: it works but should be changed. `fail`: it does not work. */
export interface Finding {
  check: string
  result: 'ok' | 'warn' | 'fail'
  message: string
  /** The suggested correction. */
  fix?: string
}

export const ok = (check: string, message: string): Finding => ({ check, result: 'ok', message })
export const warn = (check: string, message: string, fix: string): Finding => ({ check, result: 'warn', message, fix })
export const fail = (check: string, message: string, fix: string): Finding => ({ check, result: 'fail', message, fix })

/** A line for each finding, with the suggested correction below it. */
export const findingsText = (findings: readonly Finding[]): string =>
  findings
    .map(
      ({ check, result, message, fix }) => `${result.padEnd(5)} ${check}: ${message}${fix ? `\n      -> ${fix}` : ''}`,
    )
    .join('\n')
