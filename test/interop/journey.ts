// An MCP client in any language, and one person's way through a service and an MCP server with it.
import type { Recorded } from '../support/recorder.ts'
import { addUser, REDIRECT_URI } from '../support/service.ts'
import { drive } from './driver.ts'
import type { McpTestServer } from './mcp_server.ts'
import type { Toolchain } from './toolchain.ts'

/** What an MCP client can do by itself. */
export interface McpClient {
  /** Its name in the registry. */
  name: string
  version: string
  toolchain: Toolchain
  /** What follows the command of the tool chain. */
  args?: readonly string[]
  /** How the driver calls it. */
  client: string
  /** Where it waits for the answer of the browser, if that cannot be chosen. */
  redirect_uri?: string
  /** What its application has to ask for. */
  scope?: string
  /** Asks for every scope of the service where nobody names one. */
  asksForAll?: true
  /** Has no client documents. */
  withoutDocument?: true
  /** Why it never asks for more scopes. */
  withoutStepUp?: string
  /** Names no resource when it asks as a machine: an operator has to do so for it. */
  defaultResource?: true
  /** How it asks for more, when it asks for the new scope alone; with grants that it has to register for it. */
  dropsScope?: { cell: string; grant_types?: readonly string[] }
  /** Has no machine grant. */
  withoutMachine?: true
}

/** Takes a new user through the steps of a task. Returns what the tools said, and how often each grant was asked for. */
export async function takeAlong(
  service: Recorded,
  server: McpTestServer,
  { toolchain, args = [], client, redirect_uri = REDIRECT_URI, scope }: McpClient,
  more: { steps: string[] },
) {
  const user = await addUser(service)
  const from = service.sent.length
  const command = 'command' in toolchain ? [...toolchain.command, ...args] : []
  const task = { client, server: server.uri, issuer: service.issuer, redirect_uri, scope, ...more }
  const { texts, opened } = await drive(command, task, service, user)
  const asked = (grant: string) =>
    service.sent.slice(from).filter(({ params }) => params.get('grant_type') === grant).length
  return {
    texts: texts.map((text) => text.replace(user.id, 'Ada')),
    opened,
    codes: asked('authorization_code'),
    refreshes: asked('refresh_token'),
  }
}
