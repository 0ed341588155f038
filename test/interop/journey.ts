// An MCP client in any language, and the steps of one user through a service and an MCP server with it.
import type { Recorded } from '../support/recorder.ts'
import { addUser, REDIRECT_URI } from '../support/service.ts'
import { drive } from './driver.ts'
import type { McpTestServer } from './mcp_server.ts'
import type { Toolchain } from './toolchain.ts'

/** The abilities of an MCP client. */
export interface McpClient {
  /** Its name in the registry. */
  name: string
  version: string
  toolchain: Toolchain
  /** The arguments after the command of the tool chain. */
  args?: readonly string[]
  /** Its name for the driver. */
  client: string
  /** The redirect URI on which it waits for the browser, if that cannot be chosen. */
  redirect_uri?: string
  /** The scopes that its application must request. */
  scope?: string
  /** Whether it requests every scope of the service when no scope is named. */
  asksForAll?: true
  /** Whether it lacks client documents. */
  withoutDocument?: true
  /** Why it never asks for more scopes. */
  withoutStepUp?: string
  /** Whether it names no resource as a machine, so that an operator must set one. */
  defaultResource?: true
  /** How it requests additional scopes, if it requests only the new scope; with the grants that it must register for that. */
  dropsScope?: { cell: string; grant_types?: readonly string[] }
  /** Whether it lacks a machine grant. */
  withoutMachine?: true
}

/** Runs the steps of a task with a new user. Returns the answers of the tools, and the number of requests for each grant. */
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
