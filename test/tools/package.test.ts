// The tarball of `npm pack`, installed by `npm install --global` into an empty folder, is all that it takes to run the service.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'

const call = promisify(execFile)
let folder: string
let tarball: string
const installed = (...names: string[]) => path.join(folder, 'lib/node_modules/service', ...names)
const binary = (name: string) => path.join(folder, 'bin', name)
beforeAll(async () => {
  folder = tempFolder()
  const flags = ['--json', '--pack-destination', folder]
  // The build is that of this checkout, so that the scripts of the package do not run: they would build once more.
  const shrinkwrap = path.join(packageRoot, 'tools/shrinkwrap.mjs')
  await call(process.execPath, [shrinkwrap])
  const { stdout } = await call('npm', ['pack', '--ignore-scripts', ...flags], { cwd: packageRoot })
  await call(process.execPath, [shrinkwrap, '--remove'])
  tarball = path.join(folder, /service-[\d.]+\.tgz/.exec(stdout)?.[0] ?? '')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund']
  const env = { ...process.env, npm_config_better_sqlite3_local_prebuilds: await prebuilt() }
  const { stderr } = await call('npm', ['install', '--global', '--prefix', folder, ...quiet, tarball], {
    cwd: folder,
    env,
  })
  expect(stderr).not.toMatch(/EBADENGINE|deprecated/)
}, 600_000)

/** A folder with the native build of this checkout in the form that the publisher offers for download. Otherwise npm compiles SQLite for minutes. */
async function prebuilt(): Promise<string> {
  const at = path.join(packageRoot, 'node_modules/better-sqlite3')
  const { version } = JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8')) as { version: string }
  const platform = `node-v${process.versions.modules}-${process.platform}-${process.arch}`
  const file = path.join(tempFolder(), `better-sqlite3-v${version}-${platform}.tar.gz`)
  await call('tar', ['-czf', file, '-C', at, 'build/Release/better_sqlite3.node'])
  return path.dirname(file)
}

test('the package has no sources and no tests, and every package that it imports is a dependency', async () => {
  const { stdout } = await call('find', [installed(), '-type', 'f', '-not', '-path', '*/node_modules/*'])
  const files = stdout.trim().split('\n')
  const shown = files.map((file) => path.relative(installed(), file))
  expect(shown.filter((file) => /^(test|src|bench)\/|\.tsx?$/.test(file))).toEqual([])
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(installed('package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  const shipped = Object.keys({ ...dependencies, ...optionalDependencies })
  const named = files
    .filter((file) => file.endsWith('.js') && !file.includes('/dist/ui/'))
    .flatMap((file) => [
      ...readFileSync(file, 'utf8').matchAll(
        /^(?:import|export) [^'"]*?from '([^.'][^']*)'|\bimport\('([^.'][^']*)'\)/gm,
      ),
    ])
    .map(([, whole = '', later = '']) => whole || later)
    .filter((name) => !name.startsWith('node:'))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    )
  expect([...new Set(named)].filter((name) => !shipped.includes(name))).toEqual([])
})

test('the package has the documents, the configuration schema, the deployment files and the examples', () => {
  for (const file of [
    'README.md',
    'LICENSE',
    'docs/README.md',
    'docs/reference/config.schema.json',
    'deploy/systemd/service.service',
    'deploy/kubernetes/service.yaml',
    'examples/mcp-server/server.mjs',
    'config.example.yaml',
  ])
    expect(existsSync(installed(file)), file).toBe(true)
})

test('the installed package takes less than 171 MB (9 of them for the SDK of MCP, 4 for passkeys, 5 for schemas and their patterns, 1 for the forms of the admin page), because native builds for other platforms are removed', async () => {
  const { stdout } = await call('du', ['-sm', installed()])
  expect(Number.parseInt(stdout, 10)).toBeLessThan(171)
})

test('the package has the lockfile as npm-shrinkwrap.json, without packages for development, and npm pack makes it', () => {
  interface Lock {
    packages: Record<string, { version?: string; dev?: boolean }>
  }
  const read = (file: string) => Object.entries((JSON.parse(readFileSync(file, 'utf8')) as Lock).packages).slice(1)
  const locked = read(path.join(packageRoot, 'package-lock.json')).filter(([, { dev }]) => !dev)
  expect(locked.length).toBeGreaterThan(50)
  expect(read(installed('npm-shrinkwrap.json'))).toEqual(locked)
  const { scripts } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect([scripts['prepack'], scripts['postpack']]).toEqual([
    expect.stringContaining('tools/shrinkwrap.mjs'),
    'node tools/shrinkwrap.mjs --remove',
  ])
})

const PACKAGE = /^((?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+)package\.json$/
test('the commands of the deployment page install exactly the versions of the lockfile from the tarball, and nothing for development', async () => {
  const page = readFileSync(path.join(packageRoot, 'docs/operate/deploy.md'), 'utf8')
  const [, commands = ''] = /```sh\n(tar -xzf[\s\S]*?)```/.exec(page) ?? []
  const at = tempFolder()
  const script = commands.replaceAll(/service-[\d.]+\.tgz/g, tarball).replaceAll('/opt/service', path.join(at, 'opt'))
  mkdirSync(path.join(at, 'opt'))
  const env = {
    ...process.env,
    npm_config_better_sqlite3_local_prebuilds: await prebuilt(),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
  }
  const { stdout: said } = await call('sh', ['-ec', script], { cwd: at, env, maxBuffer: 2 ** 24 })
  expect(said).toMatch(/^version=\d+\.\d+\.\d+$/m)
  const root = path.join(at, 'opt')
  const { packages: locked } = JSON.parse(readFileSync(path.join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; dev?: boolean; optional?: boolean }>
  }
  const found = await call('find', [path.join(root, 'node_modules'), '-name', 'package.json'], { maxBuffer: 2 ** 24 })
  const own = new Map(
    found.stdout.split('\n').flatMap((file): [string, string][] => {
      const [, place] = PACKAGE.exec(path.relative(root, file)) ?? []
      if (!place) return []
      return [[place.slice(0, -1), (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version]]
    }),
  )
  expect([...own].filter(([place, version]) => locked[place]?.version !== version || locked[place].dev)).toEqual([])
  const needed = Object.entries(locked).filter(([place, { dev, optional }]) => place !== '' && !dev && !optional)
  expect(needed.filter(([place]) => !own.has(place)).map(([place]) => place)).toEqual([])
  expect(needed.length).toBeGreaterThan(50)
}, 600_000)

test('both names of the binary are the same program', async () => {
  const said = await Promise.all(['service', 'authserver'].map((name) => call(binary(name), ['version'])))
  expect(said[1]?.stdout).toBe(said[0]?.stdout)
})

test('the installed binary prints its version, serves, and issues a token', async () => {
  const main = binary('service')
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = {
    PATH: process.env['PATH'],
    SERVICE_SERVER_ADDRESS: `:${port}`,
    SERVICE_SERVER_ISSUER: `http://localhost:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: 'packed-admin-key',
    SERVICE_LOG_ADD_SOURCE: 'true',
  }
  const version = await call(main, ['version', '--json'], { cwd: folder, env })
  expect(JSON.parse(version.stdout)).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
  const server = spawn(main, ['serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(server, 'exit')
  let said = ''
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  try {
    await expect.poll(() => said, { timeout: 60_000 }).toContain('"msg":"ready"')
    // Lines of the sources, which are not there.
    expect(said).toMatch(/"source":"src\/server\/serve\.ts:\d+","version":/)
    const tour = await call(main, ['quickstart', '--json'], { cwd: folder, env })
    expect(JSON.parse(tour.stdout)).toMatchObject({ access_token: expect.any(String), header: { typ: 'at+jwt' } })
    expect((await fetch(`http://127.0.0.1:${adminPort}/admin/ui/`)).status).toBe(200)
  } finally {
    server.kill('SIGTERM')
  }
  expect(await ended).toEqual([0, null])
}, 120_000)
