// Closes the output of `npm test` with one plain line that people and CI can read: `N passed, N failed`.
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export default class ClosingLine implements Reporter {
  /** A file that does not load and an error outside every test count as failed, or a broken run could look clean. */
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
    const count = (state: string) => states.filter((each) => each === state).length
    const broken = modules.reduce((sum, module) => sum + brokenSuites(module), errors.length)
    const skipped = count('skipped') + count('pending')
    const line = `${count('passed')} passed, ${count('failed') + broken} failed`
    // At exit, so that it comes after the summary and whatever else is still printed.
    process.once('exit', () => process.stdout.write(`${line}${skipped ? `, ${skipped} skipped` : ''}\n`))
  }
}

/** Errors of the file itself and of its groups: imports that fail, hooks that throw. */
const brokenSuites = (module: TestModule): number =>
  module.errors().length + [...module.children.allSuites()].reduce((sum, suite) => sum + suite.errors().length, 0)
