// Runs the official TypeScript clients and mcp-remote through the steps of a task. ../driver.ts has the protocol.
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import * as v2 from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const task = JSON.parse(process.argv[2])
const input = createInterface({ input: process.stdin })
const answers = input[Symbol.asyncIterator]()
const say = (line) => console.log(JSON.stringify(line))
const ask = async (line) => {
  say(line)
  return (await answers.next()).value
}
console.warn = () => {}
const textOf = (result) => result.content[0].text
const INFO = { name: 'test', version: '1.0.0' }

/** What a client keeps between two starts. */
class Provider {
  redirectUrl = task.redirect_uri
  clientMetadataUrl = task.document
  clientMetadata = {
    client_name: 'Test',
    redirect_uris: [task.redirect_uri],
    grant_types: task.grant_types ?? ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
  constructor(kept = {}) {
    this.kept = kept
  }
  state = () => 'a-state'
  clientInformation = () => this.kept.client
  saveClientInformation = (client) => {
    this.kept.client = client
  }
  tokens = () => this.kept.tokens
  saveTokens = (tokens) => {
    this.kept.tokens = tokens
  }
  redirectToAuthorization = (url) => {
    this.url = url
  }
  saveCodeVerifier = (verifier) => {
    this.kept.verifier = verifier
  }
  codeVerifier = () => this.kept.verifier
  discoveryState = () => this.kept.discovery
  saveDiscoveryState = (discovery) => {
    this.kept.discovery = discovery
  }
  invalidateCredentials = (what) => {
    if (what === 'tokens' || what === 'all') delete this.kept.tokens
    if (what === 'client' || what === 'all') delete this.kept.client
  }
}

const V2 = {
  Client: v2.Client,
  Transport: v2.StreamableHTTPClientTransport,
  Unauthorized: v2.UnauthorizedError,
  Machine: v2.ClientCredentialsProvider,
  call: (client, name) => client.callTool({ name }),
  finish: (transport, callback) => transport.finishAuth(callback.searchParams),
}
const V1 = {
  Client,
  Transport: StreamableHTTPClientTransport,
  Unauthorized: UnauthorizedError,
  Machine: ClientCredentialsProvider,
  call: (client, name) => client.callTool({ name }),
  finish(transport, { searchParams }) {
    if (searchParams.has('error'))
      throw new Error(`${searchParams.get('error')}: ${searchParams.get('error_description')}`)
    return transport.finishAuth(searchParams.get('code'))
  },
}

/** One of the official clients: whoever is unauthorized signs in, and tries again. */
class Official {
  constructor(generation, provider) {
    this.generation = generation
    const { client_id: clientId, client_secret: clientSecret } = task
    const machine = () => new generation.Machine({ clientId, clientSecret, expectedIssuer: task.issuer })
    this.provider = provider ?? (task.machine ? machine() : new Provider())
  }
  async call(tool, tries = 0) {
    const { Client, Transport, Unauthorized, call, finish } = this.generation
    const client = new Client(INFO)
    const transport = new Transport(new URL(task.server), { authProvider: this.provider })
    try {
      await client.connect(transport)
      return textOf(await call(client, tool))
    } catch (error) {
      if (!(error instanceof Unauthorized) || tries > 1) throw error
      await finish(transport, new URL(await ask({ open: String(this.provider.url) })))
      return await this.call(tool, tries + 1)
    } finally {
      await client.close()
    }
  }
  async twin() {
    return new Official(this.generation, new Provider(structuredClone(this.provider.kept)))
  }
  async end() {}
}

const PROXY = createRequire(import.meta.url).resolve('mcp-remote/dist/proxy.js')

/** mcp-remote, the command that desktop clients start: it listens for the browser by itself. */
class Remote {
  constructor(folder = mkdtempSync(path.join(tmpdir(), 'mcp-remote-'))) {
    this.folder = folder
  }
  async connected() {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROXY, task.server, '--allow-http'],
      // No browser opens: xdg-open is not on this path.
      env: { PATH: this.folder, HOME: this.folder, MCP_REMOTE_CONFIG_DIR: this.folder },
      stderr: 'pipe',
    })
    let said = ''
    let opened = ''
    transport.stderr?.on('data', (chunk) => {
      said += chunk
      const url = [...said.matchAll(/http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/g)].at(-1)?.[0]
      if (!url || url === opened) return
      opened = url
      void ask({ open: url }).then(comeBack)
    })
    const client = new Client(INFO)
    await client.connect(transport, { timeout: 40_000 })
    return client
  }
  async call(tool) {
    this.client ??= await this.connected()
    return textOf(await this.client.callTool({ name: tool }, undefined, { timeout: 40_000 }))
  }
  async twin() {
    return new Remote(this.folder)
  }
  async end() {
    await this.client?.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** It says where to go before it listens for who comes back. */
async function comeBack(callback) {
  for (let i = 0; i < 100; i++) {
    try {
      return await fetch(callback)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

const client = task.client === 'mcp-remote' ? new Remote() : new Official(task.client === 'v2' ? V2 : V1)
const twins = []
for (const step of task.steps) {
  if (step === 'expire') await ask({ expire: true })
  else if (step === 'twins') {
    twins.push(await client.twin())
    for (const text of await Promise.all([client, twins[0]].map((each) => each.call('whoami')))) say({ text })
  } else say({ text: await client.call(step) })
}
for (const each of [client, ...twins]) await each.end()
input.close()
process.exit()
