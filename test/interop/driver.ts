// Runs a driver: a small program that uses a client of others, in the language of that client. It gets its task as JSON in its one
// argument, prints JSON lines and reads the answers line by line; the last line is its result. What it asks for is done here.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { User } from '../../src/records/user.ts'
import { Browser } from '../support/browser.ts'
import { walk } from '../support/flow.ts'
import type { TestService } from '../support/service.ts'

/** A driver that neither prints nor ends is ended. */
const LONGEST_MS = 60_000

interface Line {
  /** A URL to open in a browser; the answer is where the browser is sent. */
  open?: string
  /** Access tokens are to expire; the answer is empty. */
  expire?: true
  /** What a tool of the server answered. */
  text?: string
  result?: unknown
}
export interface Driven {
  /** What the tools answered, in order. */
  texts: string[]
  /** Where the browser was sent, in order. */
  opened: URL[]
  result: unknown
}

/** Runs a driver to its end. Throws what it printed on standard error when it fails. */
export async function drive(
  [program = '', ...args]: readonly string[],
  task: object,
  service: TestService,
  user?: Pick<User, 'email'>,
): Promise<Driven> {
  const child = spawn(program, [...args, JSON.stringify(task)], { stdio: 'pipe' })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
  const driven: Driven = { texts: [], opened: [], result: undefined }
  const browser = new Browser()
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const answerTo = async (line: Line): Promise<string | undefined> => {
    if (line.text !== undefined) driven.texts.push(line.text)
    if (line.result !== undefined) driven.result = line.result
    if (line.expire) {
      service.advance(901)
      return ''
    }
    if (!line.open || !user) return undefined
    driven.opened.push(new URL(line.open))
    return (await walk(service, line.open, user, browser)).href
  }
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = await answerTo(JSON.parse(line))
      if (answer !== undefined) child.stdin.write(`${answer}\n`)
    }
    const code = await ended
    if (code !== 0) throw new Error(`the driver ended with ${code}: ${errors.slice(-3000)}`)
    return driven
  } finally {
    clearTimeout(late)
    child.kill('SIGKILL')
  }
}
