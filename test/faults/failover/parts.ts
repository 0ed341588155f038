// Programs of the laboratory beside PostgreSQL, each in a process that the laboratory starts and ends.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unprivileged } from '../../../bench/peers/postgres_server.ts'
import { freePort } from '../../support/free_port.ts'
import { eventually, Wire } from '../../support/wire.ts'

/** Whether a program can be run from the PATH. */
export const hasProgram = (name: string): boolean => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0

export interface Part {
  port: number
  close(): Promise<void>
}

/** Starts a program in a folder of its own with one file of configuration, and waits until its port answers. */
export async function startPart(
  program: string,
  configure: (folder: string, port: number) => { content: string; args: (file: string) => string[] },
): Promise<Part> {
  const folder = mkdtempSync(path.join(tmpdir(), `service-${path.basename(program)}-`))
  const port = await freePort()
  const file = path.join(folder, 'configuration')
  const { content, args } = configure(folder, port)
  writeFileSync(file, content)
  const child = spawn(program, args(file), { ...unprivileged(folder), cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: Buffer) => {
      output = (output + text).slice(-3000)
    })
  child.once('error', (error) => {
    output += error.message
  })
  process.once('exit', () => child.kill('SIGKILL'))
  await eventually(() => accepts(port), 20_000).catch((error) => {
    throw new Error(`${program} does not start: ${output}`, { cause: error })
  })
  return { port, close: () => ended(child) }
}

const accepts = (port: number): Promise<boolean> =>
  Wire.open(port).then(
    (wire) => {
      wire.leave()
      return true
    },
    () => false,
  )

/** Ends a process that was started here. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

/** PgBouncer in front of a server, with its defaults and `more`; every client works as `user`. */
export const startPgBouncer = (to: number, more: string, user = 'postgres'): Promise<Part> =>
  startPart('pgbouncer', (folder, port) => ({
    content: `[databases]
* = host=127.0.0.1 port=${to} user=${user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir = ${folder}
auth_type = any
${more}
`,
    args: (file) => [file],
  }))

/** HAProxy in front of two servers, of which the second one is for when the first is away. */
export const startHaproxy = ([first, second]: readonly [number, number]): Promise<Part> =>
  startPart('haproxy', (_folder, port) => ({
    content: `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
listen postgres
  bind 127.0.0.1:${port}
  option pgsql-check user service
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
  server first 127.0.0.1:${first} check
  server second 127.0.0.1:${second} check backup
`,
    args: (file) => ['-db', '-f', file],
  }))
