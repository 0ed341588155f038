// What `npm pack` puts into the tarball is enough to run: unpacked into an empty folder beside nothing but packages that are shipped.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'

const call = promisify(execFile)
let folder: string
const unpacked = (...names: string[]) => path.join(folder, 'package', ...names)
beforeAll(async () => {
  folder = tempFolder()
  const { stdout } = await call('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: packageRoot,
  })
  const name = /service-[\d.]+\.tgz/.exec(stdout)?.[0] ?? ''
  await call('tar', ['-xzf', path.join(folder, name), '-C', folder])
  symlinkSync(path.join(packageRoot, 'node_modules'), unpacked('node_modules'))
}, 120_000)

test('it has neither sources, tests nor tools, and every package that its files name is one that is shipped', async () => {
  const { stdout } = await call('find', [unpacked(), '-type', 'f', '-not', '-path', '*/node_modules/*'])
  const files = stdout.trim().split('\n')
  const shown = files.map((file) => path.relative(unpacked(), file))
  expect(shown.filter((file) => /(^|\/)(test|tools|node_modules)\/|\.tsx?$/.test(file))).toEqual([])
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(unpacked('package.json'), 'utf8')) as Record<
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

test('it tells its version, serves, and issues a token', async () => {
  const main = unpacked('dist/bin/service.js')
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = {
    PATH: process.env['PATH'],
    SERVICE_SERVER_ADDRESS: `:${port}`,
    SERVICE_SERVER_ISSUER: `http://localhost:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: 'packed-admin-key',
    SERVICE_LOG_ADD_SOURCE: 'true',
  }
  const version = await call(process.execPath, [main, 'version', '--json'], { cwd: folder, env })
  expect(JSON.parse(version.stdout)).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
  const server = spawn(process.execPath, [main, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
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
    const tour = await call(process.execPath, [main, 'quickstart', '--json'], { cwd: folder, env })
    expect(JSON.parse(tour.stdout)).toMatchObject({ access_token: expect.any(String), header: { typ: 'at+jwt' } })
    expect((await fetch(`http://127.0.0.1:${adminPort}/admin/ui/`)).status).toBe(200)
  } finally {
    server.kill('SIGTERM')
  }
  expect(await ended).toEqual([0, null])
}, 120_000)
