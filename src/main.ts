// The binary: arguments in, exit code out.
import { fstatSync } from 'node:fs'
import { runCommandLine } from './command_line.ts'
import { writeAll } from './lib/durable.ts'

const { stdout, stderr } = process

// When a disk is full, a write may store a part of its data. Node does not report that for files.
if (fstatSync(stdout.fd).isFile())
  stdout._write = (chunk: Buffer, _encoding, done) => {
    try {
      writeAll(stdout.fd, chunk)
      done()
    } catch (error) {
      done(error as Error)
    }
  }

let lost: Error | undefined
stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early, such as head, is not an error.
  if (error.code !== 'EPIPE') lost ??= error
})

/** The process exits this long after the end of the command, even if connections are open: an export of telemetry to a collector that does not answer takes minutes. */
const END_MS = 2000

async function run(): Promise<void> {
  const code = await runCommandLine(process.argv, process.env)
  // The error of the last write comes after it.
  await new Promise(setImmediate)
  if (lost) stderr.write(`error: the output is not complete: ${lost.message}\n`)
  process.exitCode = code || (lost ? 1 : 0)
  setTimeout(() => process.exit(), END_MS).unref()
}
void run()
