// psql signs a person in at PostgreSQL 18 by the device authorization grant, which libpq drives. The server needs a validator module: ours asks
// the introspection endpoint. Everything else is Debian's, in a root of its own, because libpq trusts only the authorities of the system.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect } from 'vitest'
import { INTEROP_CACHE, type Toolchain } from '../interop/toolchain.ts'
import type { Browser } from '../support/browser.ts'
import { addDeviceClient, decideFor } from '../support/device.ts'
import { signedIn } from '../support/documents.ts'
import { freePort } from '../support/free_port.ts'
import { cert, key } from '../support/localhost_certificate.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct } from './product.ts'

const run = promisify(execFile)
const here = path.join(import.meta.dirname, 'postgres')
const ROOT = path.join(INTEROP_CACHE, 'postgresql-18')
const PROGRAMS = '/usr/lib/postgresql/18'
const toolchain: Toolchain = existsSync(path.join(ROOT, '.whole'))
  ? { command: ['chroot', '--userspec=65534:65534', ROOT] }
  : { missing: `PostgreSQL 18 is left out: sh ${path.join(here, 'install.sh')} ${ROOT}` }
if ('missing' in toolchain) process.stderr.write(`${toolchain.missing}\n`)
/** A command in the root, as a user that PostgreSQL accepts. */
const inRoot = (program: string, ...args: string[]): [string, string[]] => {
  const [chroot = '', ...before] = commandOf(toolchain)
  return [chroot, [...before, `${PROGRAMS}/bin/${program}`, ...args]]
}
const versionOf = (text: string) => /PostgreSQL\) (\S+)/.exec(text)?.[1] ?? ''
const DATABASE = 'postgresql://db.example.com'

describeProduct(
  {
    name: 'PostgreSQL (psql, libpq-oauth)',
    version:
      'missing' in toolchain ? '18' : versionOf(execFileSync(...inRoot('psql', '--version'), { encoding: 'utf8' })),
    from: 'Debian: postgresql-18, postgresql-client-18, libpq-oauth; the validator module of the server is ours (test/products/postgres)',
    set: [
      '`device.enabled`; `default_resource` of the client, because libpq names no resource',
      '`oauth_issuer`, `oauth_client_id` of the connection',
      '`oauth_validator_libraries`; `pg_hba.conf`: `oauth issuer="ISSUER" scope="mcp:read" map="people"`',
      '`pg_ident.conf`: the `sub` of each person and the role',
      'a client with a secret in `policy.runtime.client_ids` of the resource, for the validator',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let tls: Server
    let issuer: string
    let port: number
    let data: string
    let client_id: string
    let browserOf: Record<'ada' | 'bob', Browser>

    beforeAll(async () => {
      const issuerPort = await freePort()
      issuer = `https://localhost:${issuerPort}`
      service = await startService({
        SERVICE_DEVICE_ENABLED: 'true',
        SERVICE_DEVICE_INTERVAL: '1s',
        SERVICE_SERVER_ISSUER: issuer,
      })
      tls = createServer({ key, cert }, (incoming, response) => {
        const { url, method, headers } = incoming
        const onward = request(service.issuer + url, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        })
        incoming.pipe(onward)
      }).listen(issuerPort, 'localhost')
      writeFileSync(path.join(ROOT, 'etc/ssl/certs/ca-certificates.crt'), `${cert}\n`)
      const validator = await addClient(service)
      await addResource(service, { uri: DATABASE, policy: { runtime: { client_ids: [validator.client_id] } } })
      const psql = await addDeviceClient(service, { scope: 'mcp:read' })
      client_id = psql.client_id
      await service.app.store.updateClient({ ...psql, default_resource: DATABASE })
      const [ada, bob] = [await addUser(service), await addUser(service)]
      browserOf = { ada: await signedIn(service, ada), bob: await signedIn(service, bob) }
      await startPostgres(ada.id, `${validator.client_id}:${validator.client_secret}`)
    })
    afterAll(async () => {
      tls.close()
      await service.close()
      await run(...inRoot('pg_ctl', 'stop', '-D', data, '-m', 'immediate'))
      rmSync(path.join(ROOT, data), { recursive: true })
    })

    /** Starts a server with the role `ada`, who has the subject. */
    async function startPostgres(sub: string, credentials: string): Promise<void> {
      const module = path.join(ROOT, PROGRAMS, 'lib/service_validator.so')
      const headers = ['postgresql/18/server', 'mit-krb5'].map((folder) => `-I${ROOT}/usr/include/${folder}`)
      await run('gcc', [
        '-shared',
        '-fPIC',
        '-O',
        '-Wall',
        '-Werror',
        ...headers,
        '-o',
        module,
        path.join(here, 'service_validator.c'),
      ])
      const folder = mkdtempSync(path.join(ROOT, 'tmp/data-'))
      chownSync(folder, 65_534, 65_534)
      data = path.join('/tmp', path.basename(folder))
      port = await freePort()
      await run(...inRoot('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'))
      const set = [
        `port = ${port}`,
        "listen_addresses = '127.0.0.1'",
        "unix_socket_directories = ''",
        "oauth_validator_libraries = 'service_validator'",
      ]
      writeFileSync(path.join(folder, 'postgresql.auto.conf'), `${set.join('\n')}\n`)
      const rules = [
        'host all postgres 127.0.0.1/32 trust',
        `host all all 127.0.0.1/32 oauth issuer="${issuer}" scope="mcp:read" map="people"`,
      ]
      writeFileSync(path.join(folder, 'pg_hba.conf'), `${rules.join('\n')}\n`)
      writeFileSync(path.join(folder, 'pg_ident.conf'), `people "${sub}" ada\n`)
      const env = {
        ...process.env,
        VALIDATOR_PORT: new URL(service.issuer).port,
        VALIDATOR_CREDENTIALS: Buffer.from(credentials).toString('base64'),
      }
      const [chroot, args] = inRoot('pg_ctl', 'start', '-D', data, '-w', '-l', `${data}/log`)
      await run(chroot, args, { env })
      const connection = `host=127.0.0.1 port=${port} user=postgres dbname=postgres`
      await run(...inRoot('psql', connection, '-c', 'CREATE ROLE ada LOGIN'))
    }

    /** Connects as the role `ada`. `decide` gets the code that psql prints. Returns the outputs of psql. */
    async function connect(decide: (user_code: string) => Promise<unknown>) {
      const login = `oauth_issuer=${issuer} oauth_client_id=${client_id}`
      const connection = `host=127.0.0.1 port=${port} user=ada dbname=postgres ${login}`
      const psql = spawn(...inRoot('psql', connection, '-At', '-c', 'SELECT system_user'))
      const outputs = { stdout: '', stderr: '' }
      let decided: Promise<unknown> | undefined
      for (const name of ['stdout', 'stderr'] as const)
        psql[name].setEncoding('utf8').on('data', (text: string) => {
          outputs[name] += text
          const [, user_code] = /enter the code: (\S+)/.exec(outputs.stderr) ?? []
          if (user_code) decided ??= decide(user_code)
        })
      await new Promise((resolve) => psql.once('close', resolve))
      await decided
      return { ...outputs, asked: outputs.stderr.includes(`${issuer}/device`) }
    }

    works('login of psql with a code that a person approves at `/device`', async () => {
      const { stdout, asked } = await connect((user_code) => decideFor(service, browserOf.ada, { user_code }))
      expect([stdout, asked]).toEqual([expect.stringMatching(/^oauth:u_\S+\n$/), true])
    })

    works('refusal of a person who denies', async () => {
      const { stderr } = await connect((user_code) => decideFor(service, browserOf.ada, { user_code }, 'deny'))
      expect(stderr).toContain('access_denied')
    })

    works('refusal of another person than the one of the role', async () => {
      const { stdout, stderr } = await connect((user_code) => decideFor(service, browserOf.bob, { user_code }))
      expect([stdout, stderr]).toEqual(['', expect.stringContaining('OAuth bearer authentication failed')])
      expect(readFileSync(path.join(ROOT, data, 'log'), 'utf8')).toContain('no match in usermap "people"')
    })
  },
)
