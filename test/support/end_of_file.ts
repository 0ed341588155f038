// Closes what a test file opened when that file ends. A support module cannot call `afterAll` for that: one process runs
// many test files and loads each module once, so the hook would belong to the first of them.
const closings: (() => unknown)[] = []

/** Runs `close` after the last test of the current test file, in reverse order of the calls. */
export function atEndOfFile(close: () => unknown): void {
  closings.push(close)
}

/** Closes what the current test file opened. */
export async function endFile(): Promise<void> {
  for (const close of closings.splice(0).reverse()) await close()
}
