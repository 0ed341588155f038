// Brings the checkout into a state that runs: packages installed, build fresh. Plain JavaScript, because a bare clone
// can run nothing else. Start, test, bench and check all go through here; `npm run build` builds in any case.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const at = (/** @type {string} */ file) => path.join(root, file)
const BUILT = ['src', 'workers', 'bench', 'tools']
/** The package for resource servers. */
const KIT = 'packages/resource-server'
const INPUTS = [...BUILT, `${KIT}/src`, 'migrations', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
const STAMP = at('dist/build.json')
/** The output of tools/page.mjs and tools/bundle.mjs in dist/. These tools also remove it. */
const MADE = ['ui', 'script.js', 'bin']

/** Installs the packages of the lockfile unless they are there, and builds unless the build is newer than its sources. */
export function prepare() {
  install()
  linkKit()
  if (isBuildStale()) build()
}

/** The examples import the package by its name. npm would need a workspace for that. */
function linkKit() {
  const link = at('node_modules/@service/resource-server')
  if (existsSync(link)) return
  mkdirSync(path.dirname(link), { recursive: true })
  symlinkSync(path.relative(path.dirname(link), at(KIT)), link)
}

function install() {
  const installed = changedMs(at('node_modules/.package-lock.json'))
  if (installed >= changedMs(at('package-lock.json')) - WRITE_ORDER_MS || hasPackages()) return
  say('installing packages: npm ci')
  const progress = new Worker(at('tools/progress.mjs'), { workerData: at('.') })
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'])
  void progress.terminate()
}
// `npm install` writes the two lockfiles in either order.
const WRITE_ORDER_MS = 2000

/** Whether the packages of a lockfile that only looks newer are installed: the version of this package is in it, too. */
function hasPackages() {
  if (!existsSync(at('node_modules/.package-lock.json'))) return false
  /** @type {(file: string) => Record<string, { integrity?: string, optional?: boolean, link?: boolean }>} */
  const packagesOf = (file) => JSON.parse(readFileSync(at(file), 'utf8')).packages
  const [wanted, installed] = [packagesOf('package-lock.json'), packagesOf('node_modules/.package-lock.json')]
  const names = new Set(
    [...Object.keys(wanted), ...Object.keys(installed)].filter((name) => name.startsWith('node_modules/')),
  )
  const same = [...names].every((name) =>
    // Optional packages of other platforms are not installed.
    name in installed ? wanted[name]?.integrity === installed[name]?.integrity : wanted[name]?.optional,
  )
  if (same) utimesSync(at('node_modules/.package-lock.json'), new Date(), new Date())
  return same
}

/** Whether a source is newer than the build. The time of a folder changes when a file in it is deleted. */
export function isBuildStale() {
  return Math.max(...INPUTS.map(newestMs)) > changedMs(STAMP)
}

/** Compiles to dist/ in place, for checks, tools and tests, bundles what ships into dist/bin, writes dist/build.json, and compiles the bundle for this version of Node. */
export function build() {
  const started = new Date()
  say('building')
  run(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')])
  run(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at(KIT)])
  removeStale('')
  for (const made of ['page', 'bundle']) run(process.execPath, [at(`tools/${made}.mjs`)])
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  writeFileSync(STAMP, `${JSON.stringify({ version, commit: commit(), built_at: started.toISOString() })}\n`)
  // A source that changed while the compiler ran makes this build stale.
  utimesSync(STAMP, started, started)
  // Without the compiled code the service does the same, so a failure is not one of the build.
  const { status } = spawnSync(process.execPath, [at('tools/compile.mjs')], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) say('the bundle is not compiled, so that the service starts more slowly')
}

/** Removes compiled files whose source is gone. @param {string} folder */
function removeStale(folder) {
  for (const entry of readdirSync(at(path.join('dist', folder)), { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    const source = entry.isDirectory() ? file : file.replace(/\.js(\.map)?$/, '.ts')
    if (file === path.basename(STAMP) || MADE.includes(file)) continue
    if (!existsSync(at(source))) rmSync(at(path.join('dist', file)), { recursive: true })
    else if (entry.isDirectory()) removeStale(file)
  }
}

/** BUILD_COMMIT is for builds without the repository, such as the image. */
function commit() {
  if (process.env.BUILD_COMMIT) return process.env.BUILD_COMMIT
  const git = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' })
  return git.status === 0 ? git.stdout.trim() : 'unknown'
}

/** The newest change in a file or folder, 0 when it is missing. @param {string} name @returns {number} */
function newestMs(name) {
  if (!existsSync(at(name)) || !statSync(at(name)).isDirectory()) return changedMs(at(name))
  const inside = readdirSync(at(name)).map((entry) => newestMs(path.join(name, entry)))
  return Math.max(changedMs(at(name)), ...inside)
}
const changedMs = (/** @type {string} */ file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Standard output belongs to the command that follows. @param {string} text */
const say = (text) => process.stderr.write(`service: ${text}\n`)

/** @param {string} command @param {string[]} args */
function run(command, args) {
  try {
    execFileSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] })
  } catch {
    say(`failed: ${path.basename(command)} ${args.map((arg) => path.relative(root, arg) || arg).join(' ')}`)
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install()
  linkKit()
  build()
}
