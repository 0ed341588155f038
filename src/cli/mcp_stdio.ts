// The tools for agents over standard input and output. Loaded by `service mcp` only.
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { adminResources } from '../admin/index.ts'
import { OAuthError, unavailable } from '../lib/error.ts'
import { mcpServer } from '../mcp/server.ts'
import { TOOL_SETS, toolsFor, toolsOf } from '../mcp/tools.ts'
import { runningServer, withSender } from './send.ts'
import type { AdminTarget } from './target.ts'

/** Serves until `end` resolves. Throws when there is no key for the server. */
export async function serveMcp(target: AdminTarget, set: keyof typeof TOOL_SETS, end: Promise<unknown>): Promise<void> {
  await withSender(runningServer(target), async (sender) => {
    const tools = toolsFor(toolsOf(adminResources), TOOL_SETS[set])
    const served = serveStdio(() => mcpServer({ tools, send: sender.send, asRefusal }), {
      onerror: (error) => process.stderr.write(`error: ${error.message}\n`),
    })
    await end
    await served.close()
  })
}

/** Every other error says that the server did not answer, or not as expected. */
const asRefusal = (error: unknown): OAuthError =>
  error instanceof OAuthError ? error : unavailable((error as Error).message, { cause: error })
