// Runs the built binary, as an operator does.
import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { assert, vi } from 'vitest'
import { runCommandLine } from '../../src/command_line.ts'
import { programFile } from '../../src/lib/paths.ts'
import type { TestService } from './service.ts'

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a command to its end, with only these variables of the service. */
export function runCli(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ran> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SERVICE_'))
  const child = spawn(process.execPath, [programFile('service'), ...args], {
    env: { ...Object.fromEntries(inherited), ...env },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdin.on('error', () => {}).end(input)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

/** Runs a command in this process, which takes a tenth of the time. The input is text, or the stream that takes the place of standard input. */
export async function runHere(
  args: readonly string[],
  env: Record<string, string> = {},
  input: string | Readable = '',
): Promise<Ran> {
  const written = (stream: NodeJS.WriteStream) => {
    let text = ''
    const spy = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      text += String(chunk)
      return true
    })
    return () => {
      spy.mockRestore()
      return text
    }
  }
  const source = typeof input === 'string' ? Readable.from([Buffer.from(input)]) : input
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(source as never)
  const [stdout, stderr] = [written(process.stdout), written(process.stderr)]
  const code = await runCommandLine(['node', 'service', ...args], env)
  stdin.mockRestore()
  return { code, stdout: stdout(), stderr: stderr() }
}

/** The standard output of a command that must succeed, in a process of its own. */
export const okCli = async (args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<string> =>
  outputOf(args, await runCli(args, env, input))

/** The standard output of a command that must succeed, in this process. */
export const okHere = async (args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<string> =>
  outputOf(args, await runHere(args, env, input))

function outputOf(args: readonly string[], { code, stdout, stderr }: Ran): string {
  assert(code === 0, `service ${args.join(' ')}: exit ${code}\n${stderr}${stdout}`)
  return stdout
}

/** The environment variables of commands for a test service. */
export const envOf = ({ app: { config } }: TestService): Record<string, string> => ({
  SERVICE_SERVER_ISSUER: config.server.issuer,
  SERVICE_SERVER_ADDRESS: config.server.address,
  SERVICE_ADMIN_ADDRESS: config.admin.address,
  SERVICE_ADMIN_API_KEY: config.admin.api_key,
  SERVICE_STORAGE_SQLITE_PATH: config.storage.sqlite.path,
  SERVICE_SIGNING_KEY_PATH: config.signing.key_path,
})
