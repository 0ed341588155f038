// SPIRE's own server mints a JWT-SVID, and the service verifies it with the bundle that SPIRE prints.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free_port.ts'
import { startService } from '../support/service.ts'
import { addFederated, proveWith, SPIFFE_ASSERTION } from '../support/workload.ts'
import { LOOPBACK } from '../support/xaa.ts'
import { spire } from './toolchain.ts'

const run = promisify(execFile)
const toolchain = await spire()
const TRUST_DOMAIN = 'example.test'
const MAILER = `spiffe://${TRUST_DOMAIN}/ns/pay/sa/mailer`

const configuration = (folder: string, port: number) => `
server {
  bind_address = "127.0.0.1"
  bind_port = "${port}"
  socket_path = "${folder}/api.sock"
  trust_domain = "${TRUST_DOMAIN}"
  data_dir = "${folder}/data"
  log_level = "ERROR"
  jwt_issuer = "https://spire.example.test"
}
plugins {
  DataStore "sql" { plugin_data { database_type = "sqlite3", connection_string = "${folder}/data/store.sqlite3" } }
  KeyManager "memory" { plugin_data {} }
  NodeAttestor "join_token" { plugin_data {} }
}
`

/** Starts SPIRE's server. Returns how to run its commands. */
async function startSpireServer(program: string): Promise<(...command: string[]) => Promise<string>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'spire-'))
  mkdirSync(path.join(folder, 'data'))
  const file = path.join(folder, 'server.conf')
  writeFileSync(file, configuration(folder, await freePort()))
  const server = spawn(program, ['run', '-config', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const ask = async (...command: string[]) =>
    (await run(program, [...command, '-socketPath', path.join(folder, 'api.sock')])).stdout
  while (server.exitCode === null && !(await ask('healthcheck').catch(() => ''))) await sleep(200)
  return ask
}

/** Serves a text as JSON. Returns its URL. */
async function serveJson(text: string): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(text),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/bundle`
}

test.skipIf('missing' in toolchain)(
  'a JWT-SVID of SPIRE 1.13 proves the client of its SPIFFE ID, and no other',
  { timeout: 120_000 },
  async () => {
    const [program = ''] = 'command' in toolchain ? toolchain.command : []
    const ask = await startSpireServer(program)
    const jwks_uri = await serveJson(await ask('bundle', 'show', '-format', 'spiffe'))
    const service = await startService(LOOPBACK)
    const { client_id } = await addFederated(service, [
      { issuer: `spiffe://${TRUST_DOMAIN}`, subject: `spiffe://${TRUST_DOMAIN}/ns/*/sa/mailer`, jwks_uri },
    ])
    const proven = async (id: string, audience = service.issuer) => {
      const printed = await ask('jwt', 'mint', '-spiffeID', id, '-audience', audience)
      const svid = /^eyJ\S+/m.exec(printed)?.[0] ?? ''
      const { status, body } = await proveWith(service, svid, { client_assertion_type: SPIFFE_ASSERTION })
      return status === 200 ? decodeJwt(String(body['access_token'])).sub : status
    }
    expect(await proven(MAILER)).toBe(client_id)
    expect(await proven(MAILER.replace('mailer', 'worker'))).toBe(401)
    expect(await proven(MAILER, 'https://other.example')).toBe(401)
    await service.close()
  },
)
