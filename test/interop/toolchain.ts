// The tool chains of other languages, with the clients that drivers use. Installed packages have fixed versions, are kept outside the repository
// for the next run, and are no dependency of the service. If a tool chain is missing, its tests are skipped with one line of output.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../src/lib/paths.ts'
import { pause } from '../support/wire.ts'
import { DATABASE, runKeycloak } from './keycloak/server.ts'

const run = promisify(execFile)
/** Where installed programs of other projects are kept between runs. */
export const INTEROP_CACHE = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'service-interop',
)
/** Longer installs are given up. */
const LONGEST_MS = 240_000

/** The command of a driver, or the reason why it cannot be run. */
export type Toolchain = { command: string[] } | { missing: string }

const folderOf = (language: string) => path.join(packageRoot, 'test/interop', language)

const hashOf = (...files: string[]) => {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}

/** Creates a folder of the cache once for each content of the files that name the versions. */
async function installed(
  name: string,
  pins: string | readonly string[],
  install: (folder: string) => Promise<unknown>,
): Promise<void> {
  const folder = path.join(INTEROP_CACHE, `${name}-${hashOf(...[pins].flat())}`)
  const whole = path.join(folder, '.whole')
  if (existsSync(whole)) return
  mkdirSync(INTEROP_CACHE, { recursive: true })
  const unlock = await locked(`${folder}.lock`)
  try {
    // Another test file may have installed it meanwhile.
    if (existsSync(whole)) return
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    await install(folder)
    writeFileSync(whole, '')
  } finally {
    unlock()
  }
}

/** Waits until no other test file holds a lock, which is a folder. A lock that a run left behind is removed when it is old. */
async function locked(folder: string): Promise<() => void> {
  for (;;)
    try {
      mkdirSync(folder)
      return () => rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const { mtimeMs = 0 } = statSync(folder, { throwIfNoEntry: false }) ?? {}
      if (Date.now() - mtimeMs > LONGEST_MS) rmSync(folder, { recursive: true, force: true })
      else await pause(200)
    }
}

const within = { timeout: LONGEST_MS, maxBuffer: 1 << 26 }
const firstLines = (error: unknown) =>
  String(error instanceof Error ? error.message : error)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, 3)
    .join(' ')

/** Installs the packages of a driver. If that is not possible, prints one line with the skipped tests and the reason. A driver that does not build is an error. */
async function prepared(
  name: string,
  fetch: () => Promise<unknown>,
  build: () => Promise<string[]>,
): Promise<Toolchain> {
  try {
    await fetch()
  } catch (error) {
    const missing = `${name} is left out: ${firstLines(error)}`
    process.stderr.write(`${missing}\n`)
    return { missing }
  }
  return { command: await build() }
}

/** A Python with the packages of a file of requirements, in the folder of Python unless its path is absolute. */
export async function python(requirements: string): Promise<Toolchain> {
  const file = path.resolve(folderOf('python'), requirements)
  const name = `python-${path.basename(requirements, '.txt')}`
  const binary = path.join(INTEROP_CACHE, `${name}-${hashOf(file)}`, 'bin/python')
  const install = () =>
    installed(name, file, async (to) => {
      await run('python3', ['-m', 'venv', to], within)
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', file]
      await run(binary, pip, within)
    })
  return prepared(name, install, async () => [binary])
}

/** The Go driver. Go's own cache makes a second build short. */
export function go(): Promise<Toolchain> {
  const binary = path.join(INTEROP_CACHE, 'go-driver')
  const here = { ...within, cwd: folderOf('go') }
  const build = async () => {
    await run('go', ['build', '-o', binary, '.'], here)
    return [binary]
  }
  return prepared('go', () => run('go', ['mod', 'download'], here), build)
}

/** A Go program of the folder `examples`. */
export function goExample(name: string): Promise<Toolchain> {
  const binary = path.join(INTEROP_CACHE, name)
  const here = { ...within, cwd: path.join(packageRoot, 'examples', name) }
  const build = async () => {
    await run('go', ['build', '-o', binary, '.'], here)
    return [binary]
  }
  return prepared(name, () => run('go', ['mod', 'download'], here), build)
}

/** Programs whose installation takes minutes are built only on request, so that a machine without them does not spend the time of a whole run on them. */
function checkRequested(test: string): void {
  if (!process.env['SERVICE_BUILD_PARTS'])
    throw new Error(`it is not built yet; SERVICE_BUILD_PARTS=1 npx vitest run test/${test}.test.ts builds it`)
}

/** A Go program at the version in `module`, kept for the next run. With `test` it is built on request. */
export function goProgram(name: string, module: string, test?: string): Promise<Toolchain> {
  const folder = path.join(INTEROP_CACHE, `${name}-${module.slice(module.indexOf('@') + 1)}`)
  const binary = path.join(folder, name)
  const install = async () => {
    if (existsSync(binary)) return
    if (test) checkRequested(test)
    await run('go', ['install', module], { ...within, env: { ...process.env, GOBIN: folder } })
  }
  return prepared(name, install, async () => [binary])
}

/** Helm. Its build takes three minutes. */
export const helm = () => goProgram('helm', 'helm.sh/helm/v3/cmd/helm@v3.22.0', 'tools/deploy_tools')

/** gitleaks, which finds committed secrets. */
export const gitleaks = () => goProgram('gitleaks', 'github.com/zricethezav/gitleaks/v8@v8.30.1')

/** A program of npm packages at fixed versions, kept for the next run. With `test` it is installed on request. */
function npmProgram(name: string, packages: readonly string[], test?: string) {
  const folder = path.join(INTEROP_CACHE, name)
  const at = (file: string) => path.join(folder, 'node_modules', file)
  return (command: readonly string[], ...more: string[]): Promise<Toolchain> =>
    prepared(
      name,
      async () => {
        if (command.every((file) => existsSync(at(file)))) return
        if (test) checkRequested(test)
        await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...packages], within)
      },
      async () => [...command.map(at), ...more],
    )
}

/** redocly, which checks OpenAPI documents. */
export const redocly = () => npmProgram('redocly-2.77.0', ['@redocly/cli@2.77.0'])(['.bin/redocly'])

/** MCP Inspector without its page, with the version of Node.js that it needs. It has 300 MB and is installed on request. */
export const inspector = () =>
  npmProgram(
    'inspector-2.12.0',
    ['@modelcontextprotocol/inspector@2.12.0', 'node@22.23.3'],
    'interop/agents',
  )(['node/bin/node', '@modelcontextprotocol/inspector/clients/launcher/build/index.js'], '--cli')

/** A package of npm outside the repository. The command is the path of one of its files, below `node_modules`. */
export const npmPackage = (name: string, version: string, file: string): Promise<Toolchain> =>
  npmProgram(`${name.replace(/\W+/g, '-')}-${version}`, [`${name}@${version}`])([file])

/** SPIRE's own server. Its build from source takes up to half an hour on two cores. It is built on request, and kept for the next run. */
export function spire(): Promise<Toolchain> {
  const pins = path.join(folderOf('spire'), 'go.mod')
  const folder = path.join(INTEROP_CACHE, `spire-${hashOf(pins)}`)
  const build = (to: string) => {
    checkRequested('interop/spire')
    // Go writes checksums beside the file, after the checksum database has confirmed them.
    copyFileSync(pins, path.join(to, 'go.mod'))
    const command = ['build', '-mod=mod', '-o', 'spire-server', 'github.com/spiffe/spire/cmd/spire-server']
    return run('go', command, { maxBuffer: within.maxBuffer, cwd: to })
  }
  return prepared(
    'SPIRE',
    () => installed('spire', pins, async (to) => build(to)),
    async () => [path.join(folder, 'spire-server')],
  )
}

/** dex, built on request around its own server package, and kept for the next run. */
export const dex = () => goMain(folderOf('dex'), 'interop/dex')

/** A Go program around a package of others, in a folder with its checksums. With `test` it is built on request. */
export function goMain(here: string, test?: string): Promise<Toolchain> {
  const name = path.basename(here)
  const pins = ['go.sum', 'main.go'].map((file) => path.join(here, file))
  const binary = path.join(INTEROP_CACHE, `${name}-${hashOf(...pins)}`, name)
  const build = () => {
    if (test) checkRequested(test)
    const env = { ...process.env, CGO_ENABLED: '0' }
    return run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', binary, '.'], { ...once, cwd: here, env })
  }
  return prepared(
    name,
    () => installed(name, pins, build),
    async () => [binary],
  )
}

const KEYCLOAK = '26.7.0'
/**
 * Keycloak from Maven, installed on request. The command is its folder. The first start creates the database with the realm, which takes most of a
 * minute. It is done once and kept.
 */
export function keycloak(): Promise<Toolchain> {
  const realm = path.join(folderOf('keycloak'), 'realm.json')
  const name = `keycloak-${KEYCLOAK}`
  const home = path.join(INTEROP_CACHE, `${name}-${hashOf(realm)}`, name)
  const install = async (to: string) => {
    checkRequested('interop/keycloak')
    const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${KEYCLOAK}:zip`
    await run('mvn', ['-q', '-B', COPY, artifact, `-DoutputDirectory=${to}`], within)
    await run('jar', ['xf', `keycloak-quarkus-dist-${KEYCLOAK}.zip`], { ...within, cwd: to })
    rmSync(path.join(to, `keycloak-quarkus-dist-${KEYCLOAK}.zip`))
    await run('bash', [path.join(home, 'bin/kc.sh'), 'build', '--db=dev-file'], once)
    mkdirSync(path.join(home, 'data/import'), { recursive: true })
    copyFileSync(realm, path.join(home, 'data/import/acme-realm.json'))
    const database = path.join(home, DATABASE)
    const { close } = await runKeycloak({ home, database, arguments: ['--import-realm'] })
    await close()
  }
  return prepared(
    'Keycloak',
    () => installed(name, realm, install),
    async () => [home],
  )
}
/** It is done once, and takes half a minute on a machine that does nothing else. */
const once = { ...within, timeout: 2 * LONGEST_MS }
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'

/** The Rust driver. */
export function rust(): Promise<Toolchain> {
  const target = path.join(INTEROP_CACHE, 'rust')
  const here = { ...within, cwd: folderOf('rust') }
  const build = async () => {
    await run('cargo', ['build', '--quiet', '--locked', '--target-dir', target], here)
    return [path.join(target, 'debug/driver')]
  }
  return prepared('rust', () => run('cargo', ['fetch', '--quiet', '--locked'], here), build)
}

/** A driver in Java, with the jars of a file of dependencies. Both are in the folder of Java unless their paths are absolute. */
export function java(source: string, dependencies: string): Promise<Toolchain> {
  const pom = path.resolve(folderOf('java'), dependencies)
  const name = `java-${path.basename(dependencies, '.xml')}`
  const [jars, classes] = [
    path.join(INTEROP_CACHE, `${name}-${hashOf(pom)}`),
    path.join(INTEROP_CACHE, `${name}-classes`),
  ]
  const copy = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`]
  const build = async () => {
    const compile = ['-nowarn', '-cp', path.join(jars, '*'), '-d', classes, path.resolve(folderOf('java'), source)]
    await run('javac', compile, within)
    return [
      'java',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      `${classes}:${path.join(jars, '*')}`,
      path.basename(source, '.java'),
    ]
  }
  return prepared(name, () => installed(name, pom, () => run('mvn', copy, within)), build)
}

/** A program in Java that Maven packages in a copy of its folder. `jar` is its path there. */
export function maven(name: string, folder: string, jar: string): Promise<Toolchain> {
  const pom = path.join(folder, 'pom.xml')
  const home = path.join(INTEROP_CACHE, `${name}-${hashOf(pom)}`)
  const install = async (to: string) => {
    cpSync(folder, to, { recursive: true })
    await run('mvn', ['-q', '-B', 'package'], { ...once, cwd: to })
  }
  return prepared(
    name,
    () => installed(name, pom, install),
    async () => ['java', '-jar', path.join(home, jar)],
  )
}
