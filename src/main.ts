#!/usr/bin/env node
// The binary: arguments in, exit code out.
import { run } from './cli/commands.ts'

process.exitCode = await run(process.argv, process.env)
