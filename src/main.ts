#!/usr/bin/env node
// The binary: arguments in, exit code out.
import { run } from './cli/commands.ts'

// A reader that has seen enough, such as head, is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await run(process.argv, process.env)
