// Compiles the bundle for this version of Node: runs a service until it has issued a token, and writes the code that V8 compiled
// meanwhile beside every file that was loaded. tools/loader.cjs reads it at the start.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from './prepare.mjs'

const WAIT_MS = 30_000
const KEY = 'a-key-of-this-run-only'

const require = createRequire(import.meta.url)
const [port, adminPort] = [await freePort(), await freePort()]
const [issuer, admin] = [`http://localhost:${port}`, `http://127.0.0.1:${adminPort}`]

try {
  await compile()
} catch (error) {
  process.stderr.write(`service: the bundle cannot be compiled: ${error}\n`)
  process.exit(1)
}
process.exit(0)

async function compile() {
  /** @type {{ watch(compiled: (file: string, script: import('node:vm').Script) => void): void }} */
  const loader = require(path.join(root, 'dist/bin/loader.js'))
  /** @type {Map<string, import('node:vm').Script>} */
  const scripts = new Map()
  loader.watch((file, script) => scripts.set(file, script))

  const folder = mkdtempSync(path.join(os.tmpdir(), 'service-compile-'))
  // The service also ends the process, when it cannot start or gets a signal.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const name of Object.keys(process.env)) if (name.startsWith('SERVICE_')) delete process.env[name]
  Object.assign(process.env, {
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_SERVER_ISSUER: issuer,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: KEY,
    SERVICE_OBSERVABILITY_LOGGING_LEVEL: 'error',
  })
  process.chdir(folder)
  process.argv.splice(1, Number.POSITIVE_INFINITY, path.join(root, 'dist/bin/service.js'), 'serve')
  require(path.join(root, 'dist/bin/service.js'))
  await ready()
  await issueToken()
  for (const [file, script] of scripts) writeFileSync(`${file}.code`, script.createCachedData())
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  return port
}

async function ready() {
  for (const endMs = performance.now() + WAIT_MS; ; await sleep(10)) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
    if (answer?.ok) return
    if (performance.now() > endMs) throw new Error('the service is not ready')
  }
}

async function issueToken() {
  const scope = 'notes:read'
  const resource = 'https://notes.example.com/mcp'
  const scopes = [{ name: scope, description: 'Read' }]
  await post('/admin/resources', { slug: 'notes', uri: resource, backend_kind: 'mint', display_name: 'Notes', scopes })
  const grant = { grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_post', scope }
  const { client_id = '', client_secret = '' } = await post('/admin/clients', { client_name: 'compile', ...grant })
  const form = { grant_type: 'client_credentials', client_id, client_secret, resource, scope }
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

/** @param {string} place @param {object} body @returns {Promise<Record<string, string>>} */
async function post(place, body) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(`${admin}${place}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return /** @type {Record<string, string>} */ (await answer.json())
}
