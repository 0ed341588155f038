// How far a long command is, on standard error: a bar on a terminal, lines in a pipe. A short command shows nothing.

/** Milliseconds until the first sign, and between two signs on a terminal and in a pipe. */
const [FIRST_MS, BAR_MS, LINE_MS] = [2000, 200, 10_000]
const BAR_WIDTH = 24

/** What is written to: standard error, or its double in a test. */
type Sign = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>

/** The progress of one command. */
export class CommandProgress {
  private readonly what: string
  private readonly to: Sign
  private nextMs: number
  private hasBar = false

  /** `what` names the work, such as the name of a command. The first sign comes after `firstMs`. */
  constructor(what: string, firstMs = FIRST_MS, to: Sign = process.stderr) {
    this.what = what
    this.to = to
    this.nextMs = performance.now() + firstMs
  }

  /** Shows the rows that are done, and how far the whole is, 0 to 1. Without `share` that is not known. */
  show(rows: number, share?: number): void {
    const now = performance.now()
    if (now < this.nextMs) return
    this.nextMs = now + (this.to.isTTY ? BAR_MS : LINE_MS)
    const part = share === undefined ? '' : `${Math.floor(share * 100)} %, `
    const text = `${this.what}: ${part}${rows} rows`
    if (!this.to.isTTY) this.to.write(`${text}\n`)
    else {
      this.hasBar = true
      const full = Math.round((share ?? 0) * BAR_WIDTH)
      const bar = share === undefined ? '' : `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] `
      this.to.write(`\r\u001b[K${bar}${text}`)
    }
  }

  /** Removes the bar. */
  end(): void {
    if (this.hasBar) this.to.write('\r\u001b[K')
    this.hasBar = false
  }
}
