// Runs a driver: a small program that uses a third-party client, in the language of that client. It receives its task as JSON in its one
// argument, prints JSON lines and reads the answers line by line; the last line is its result. Its requests are carried out here.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { User } from '../../src/records/user.ts'
import { Browser } from '../support/browser.ts'
import { walk } from '../support/flow.ts'
import type { TestService } from '../support/service.ts'

/** A driver without output for this time is ended. */
const LONGEST_MS = 60_000

interface Line {
  /** A URL to open in a browser; the answer is where the browser is sent. */
  open?: string
  /** A request that access tokens expire; the answer is empty. */
  expire?: true
  /** The answer of a tool of the server. */
  text?: string
  result?: unknown
}
export interface Driven {
  /** The answers of the tools, in order. */
  texts: string[]
  /** The URLs that the browser was sent to, in order. */
  opened: URL[]
  result: unknown
}

/** Runs a driver to its end. When it fails, throws an error with its standard error. */
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
