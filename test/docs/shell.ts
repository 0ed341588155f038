// Runs the commands of a Markdown file as a reader would: one after the other in one shell, in a checkout, against a service
// that runs. What readers do elsewhere is done here too: addresses become those of the service, and the browser signs in.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot, programFile } from '../../src/lib/paths.ts'
import { reportWith, resultWith } from '../bench/reports.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { startTransit } from '../support/transit_server.ts'
import { type Block, type Doc, type Hidden, isBlock } from './markdown.ts'

/** Who signs in wherever a command of the documentation opens a browser. */
const READER = { email: 'ada@example.com', password: 'a good long password' }

/** A command that waits for something is ended, with whatever it started. */
const LONGEST_MS = 180_000

export interface RanBlock {
  line: number
  stdout: string
}
export interface RanDoc {
  code: number | null
  /** Those that were begun, in order. */
  blocks: RanBlock[]
  stderr: string
}

/** Whether the commands of a block are run. */
export const isRun = (step: Block | Hidden): boolean =>
  !isBlock(step) || (step.lang === 'sh' && step.notRun === undefined && !isSettings(step))

/** Nothing but variables of the service, as they stand in the file of its unit: read, not run. */
export const isSettings = ({ lang, text }: Block): boolean =>
  lang === 'sh' && /^SERVICE_/.test(text) && text.split('\n').every((line) => SETTING.test(line))
const SETTING = /^[A-Z_]+=(\$\([^)]*\)|\S*)( *#.*)?$/

/** What stays in the foreground, and is therefore started in a terminal of its own. */
const SERVES =
  /^((?:\w+=\S+ )*)(npm start\b|service serve\b|node \S*server\.mjs|python \S*server\.py|\.\/\S*server\b)([^#\n]*)(#.*)?$/gm

/** What `service bench` would have left behind. */
const REPORT = reportWith(
  ['client_credentials', 'refresh_token', 'exchange, new tokens', 'exchange, same tokens'].map((work) =>
    resultWith(work, [{ per_s: 9000 }], [{ per_s: 8000 }]),
  ),
)

const LIBRARY = `
set -eo pipefail
shopt -s expand_aliases
wait_for() {
  for ((i = 0; i < 1200; i++)); do
    if curl -sf -o /dev/null "$1"; then return; fi
    sleep 0.1
  done
  echo "nothing answers at $1" >&2; cat terminal-* >&2; return 1
}
stop() { # the service
  if [ -n "$serving" ]; then kill "$serving"; wait "$serving" || true; serving=; fi
}
terminal() {
  case "$*" in
    *server.mjs*|*server.py*|./*server*)
      "$@" >terminal-example 2>&1 &
      others="$others $!"
      wait_for "http://localhost:$EXAMPLE_PORT/health" ;;
    *)
      stop
      "$@" >terminal-service 2>&1 &
      serving=$!
      wait_for "http://localhost:$PUBLIC_PORT/ready" ;;
  esac
}
trap 'kill $serving $others 2>/dev/null || true; wait' EXIT
`

/** The script of a file. Each block begins with a line that says where it stands. */
function scriptOf({ steps, settings }: Doc, replaced: (text: string) => string): string {
  const begun =
    settings === undefined ? [] : [settings === 'its own' ? '' : `export ${replaced(settings.replaceAll('\n', ' '))}`]
  if (settings !== 'its own') begun.push('export SERVICE_ADMIN_API_KEY=local-admin-key', 'terminal service serve')
  const parts = steps.filter(isRun).map((step) => {
    const text = replaced(isBlock(step) ? step.text : step.hidden).replace(SERVES, '$1terminal $2$3')
    return `printf '\\001%s\\n' ${step.line}\n${text}\n`
  })
  return [LIBRARY, ...begun, ...parts].join('\n')
}

/** Runs every block of a file that is to be run; `programs` is a folder of programs that it needs. */
export async function runDoc(doc: Doc, programs?: string): Promise<RanDoc> {
  const folder = tempFolder()
  for (const name of readdirSync(packageRoot))
    if (!['data', '.git'].includes(name)) symlinkSync(path.join(packageRoot, name), path.join(folder, name))
  for (const name of ['backup', 'bin']) mkdirSync(path.join(folder, name))
  const binary = `#!/bin/sh\nexec '${process.execPath}' '${programFile('service')}' "$@"\n`
  writeFileSync(path.join(folder, 'bin/service'), binary, { mode: 0o755 })
  const [port, adminPort, examplePort] = [await freePort(), await freePort(), await freePort()]
  const issuer = `http://localhost:${port}`
  const transit = doc.settings?.includes('<transit>') ? await startTransit() : undefined
  writeFileSync(path.join(folder, 'capacity.json'), JSON.stringify(REPORT))
  const replaced = (text: string) =>
    text
      .replaceAll('<transit>', String(transit?.address))
      .replaceAll('localhost:9000', `localhost:${port}`)
      .replaceAll('localhost:9001', `localhost:${adminPort}`)
      // Each kind of example has a port of its own. A guide uses one of them.
      .replaceAll(/(?<!\d)300[0-3](?!\d)/g, String(examplePort))
      .replaceAll('https://auth.example.com', issuer)
      .replaceAll('/backup/', `${folder}/backup/`)
  writeFileSync(path.join(folder, 'commands.sh'), scriptOf(doc, replaced))
  const inherited = Object.entries(process.env).filter(([name]) => !/^(SERVICE_|npm_|PORT$)/.test(name))
  const child = spawn('bash', ['commands.sh'], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(inherited),
      PATH: [`${folder}/bin`, path.dirname(process.execPath), programs, process.env['PATH']].filter(Boolean).join(':'),
      PUBLIC_PORT: String(port),
      EXAMPLE_PORT: String(examplePort),
      PORT: String(examplePort),
      SERVICE_SERVER_ISSUER: issuer,
      SERVICE_SERVER_ADDRESS: `:${port}`,
      SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    },
  })
  let [stdout, stderr] = ['', '']
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid)
  }
  const opened = new Set<string>()
  const read = (chunk: string) => {
    for (const [url] of `${stdout}${stderr}`.matchAll(/^http:\/\/localhost:\d+\/oauth\/authorize\?\S+(?=\n)/gm)) {
      if (opened.has(url)) continue
      opened.add(url)
      void signIn(url).catch((error: unknown) => {
        stderr += `the browser: ${String(error)}\n`
        end()
      })
    }
    return chunk
  }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    read(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
    read(chunk)
  })
  const late = setTimeout(end, LONGEST_MS)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(late)
  await transit?.close()
  rmSync(folder, { recursive: true, force: true })
  const blocks = stdout
    .split('\u0001')
    .slice(1)
    .map((part) => ({ line: Number.parseInt(part, 10), stdout: part.slice(part.indexOf('\n') + 1) }))
  return { code, blocks, stderr }
}

/** The browser of the reader: signs in where it is asked to, allows, and follows to the end. */
async function signIn(url: string): Promise<void> {
  const { origin } = new URL(url)
  const browser = new Browser()
  let page = await browser.follow(url)
  if (page.text.includes('type="password"')) {
    page = await browser.post(`${origin}/login`, { ...Object.fromEntries(fieldsOf(page)), ...READER })
    if (page.location) page = await browser.follow(page.location)
  }
  if (page.text.includes('value="allow"'))
    page = await browser.post(`${origin}/consent`, [...fieldsOf(page), ['action', 'allow']])
  if (!page.location) throw new Error(`no redirect but ${page.status}: ${page.text}`)
  await fetch(page.location)
}
