// Closes the output of `npm test` with a line for each failed test, and one plain line that people and CI can read: `N passed, N failed`.
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'

export default class ClosingLine implements Reporter {
  /** A file that does not load and an error outside of every test count as failed, because otherwise a broken run could look successful. */
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const states = tests.map((test) => test.result().state)
    const count = (state: string) => states.filter((each) => each === state).length
    const broken = modules.reduce((sum, module) => sum + brokenSuites(module), errors.length)
    const skipped = count('skipped') + count('pending')
    const line = `${count('passed')} passed, ${count('failed') + broken} failed`
    const failures = tests.filter((test) => test.result().state === 'failed').map(failureOf)
    // At exit, so that it comes after the summary and whatever else is still printed.
    process.once('exit', () =>
      process.stdout.write(`${failures.join('')}${line}${skipped ? `, ${skipped} skipped` : ''}\n`),
    )
  }
}

/** File, name and first line of the error, which .ci/run repeats at the end of its output. */
const failureOf = (test: TestCase): string =>
  `FAILED ${test.module.relativeModuleId} > ${test.fullName}: ${test.result().errors?.[0]?.message.split('\n', 1)[0]}\n`

/** Errors of the file itself and of its groups: imports that fail, hooks that throw. */
const brokenSuites = (module: TestModule): number =>
  module.errors().length + [...module.children.allSuites()].reduce((sum, suite) => sum + suite.errors().length, 0)
