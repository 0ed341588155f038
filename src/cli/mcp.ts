// `service mcp`: the tools for agents over standard input and output. It uses the running server, like the admin commands.
import { once } from 'node:events'
import { type Command, Option } from 'commander'
import type { Env } from '../config/env.ts'
import { adminTargetOf, type TargetFlags } from './target.ts'
import { addTargetOptions, type GlobalOptions } from './tree.ts'

const SETS = ['diagnose', 'operate', 'manage'] as const

interface McpFlags extends TargetFlags {
  tools: (typeof SETS)[number]
}

/** Adds `mcp`. */
export function addMcpCommand(program: Command, env: Env): void {
  const command = program
    .command('mcp')
    .description(
      'Speaks MCP over standard input and output, so that an agent can look for the reason of a problem with the operations of the admin API. It needs a running server.',
    )
    .addOption(
      new Option(
        '--tools <set>',
        'Which tools the agent gets: diagnose only reads, operate adds changes, manage adds those of an admin. The key must allow them too.',
      )
        .choices(SETS)
        .default('diagnose'),
    )
  addTargetOptions(command)
  command.action(async () => {
    const { tools, ...flags } = command.optsWithGlobals<GlobalOptions & McpFlags>()
    const { serveMcp } = await import('./mcp_stdio.ts')
    await serveMcp(await adminTargetOf(flags, env), tools, once(process.stdin, 'close'))
  })
}
