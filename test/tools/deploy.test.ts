// The files of deploy/ name settings that exist, and what they promise about each other holds.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { envNames, keysOf } from '../../src/config/key.ts'
import { loadConfig } from '../../src/config/load.ts'
import { schema } from '../../src/config/schema.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFile, tempFolder } from '../support/folder.ts'

const read = (file: string) => readFileSync(path.join(packageRoot, file), 'utf8')
const known = [...keysOf(schema)].flatMap(({ path: at, key }) => envNames(at, key))
const SECRET = randomBytes(32).toString('base64url')

const UNITS = ['service.service', 'service-purge.service', 'service-purge.timer'].map(
  (unit) => `deploy/systemd/${unit}`,
)

test.each(['deploy/compose.yaml', 'deploy/kubernetes/service.yaml', ...UNITS, 'Dockerfile'])(
  '%s names only variables that exist',
  (file) => {
    const named = [...new Set(read(file).match(/\bSERVICE_[A-Z_]+[A-Z]\b/g) ?? [])]
    const allowed = [...known, 'SERVICE_DATA_ENCRYPTION_KEY']
    expect(named.filter((name) => !allowed.includes(name))).toEqual([])
  },
)

interface Manifest {
  kind: string
  data?: Record<string, string>
  spec?: Record<string, unknown>
}
const manifests = parseAllDocuments(read('deploy/kubernetes/service.yaml')).map((each) => each.toJS() as Manifest)
const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind)

const secrets = {
  SERVICE_STORAGE_POSTGRES_DSN: 'postgres://service:x@db/service',
  SERVICE_ADMIN_API_KEY: SECRET,
  SERVICE_SESSION_SECRET: SECRET,
  SERVICE_DATA_ENCRYPTION_KEY: 'ab'.repeat(32),
}

test('the settings of the Kubernetes manifests, with the secrets that they reference, are a configuration without warnings', () => {
  const { config, warnings } = loadConfig(
    tempFile('service.yaml', ofKind('ConfigMap')[0]?.data?.['service.yaml'] ?? ''),
    secrets,
  )
  expect(warnings).toEqual([])
  expect([config.storage.driver, config.signing.key_store]).toEqual(['postgres', 'postgres_key'])
})

test('the settings of the compose file are a valid configuration', () => {
  const { services } = parse(read('deploy/compose.yaml')) as {
    services: { service: { environment: Record<string, string> } }
  }
  const given = Object.entries(services.service.environment).map(([name, value]) => [
    name,
    value.replace(
      /\$\{(\w+):?[-?]?([^}]*)\}/g,
      (_, variable: string, fallback: string) => fallback || ((secrets as Record<string, string>)[variable] ?? 'x'),
    ),
  ])
  expect(loadConfig(undefined, Object.fromEntries(given)).config.server.issuer).toBe('http://localhost:8080')
})

test('no file trusts a network that has other hosts than the proxy', () => {
  interface Compose {
    services: Record<string, { environment?: Record<string, string>; networks?: { default: { ipv4_address: string } } }>
    networks: { default: { ipam: { config: { subnet: string; ip_range: string }[] } } }
  }
  const { services, networks } = parse(read('deploy/compose.yaml')) as Compose
  const trusted = services['service']?.environment?.['SERVICE_SERVER_TRUSTED_PROXIES'] ?? ''
  expect(trusted).toBe(services['proxy']?.networks?.default.ipv4_address)
  const [{ subnet, ip_range } = { subnet: '', ip_range: '' }] = networks.default.ipam.config
  const isIn = (range: string) => {
    const [address = '', bits] = range.split('/')
    const list = new BlockList()
    list.addSubnet(address, Number(bits))
    return list.check(trusted)
  }
  expect([isIn(subnet), isIn(ip_range)]).toEqual([true, false])
  const { config } = parse(read('deploy/chart/values.yaml')) as { config: { server: { trusted_proxies: string[] } } }
  const manifest = parse(ofKind('ConfigMap')[0]?.data?.['service.yaml'] ?? '') as typeof config
  expect([config.server.trusted_proxies, manifest.server.trusted_proxies]).toEqual([[], []])
})

test('pods run without privileges on a read-only file system, and their probes exist', () => {
  const text = read('deploy/kubernetes/service.yaml')
  for (const kind of ['Deployment', 'CronJob']) {
    const all = JSON.stringify(ofKind(kind)[0])
    for (const rule of ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"drop":["ALL"]'])
      expect(all).toContain(rule)
  }
  const routes = read('src/endpoints/routes.ts')
  for (const [, probe] of text.matchAll(/httpGet: \{ path: (\S+),/g)) expect(routes).toContain(`'${probe}'`)
})

test('the image uses a supported version of Node, and does not run as root', () => {
  const text = read('Dockerfile')
  expect(text).toMatch(/^USER 1000$/m)
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  const [, most] = /<(\d+)/.exec(engines.node) ?? []
  for (const [, major] of text.matchAll(/^FROM node:(\d+)-/gm)) expect(Number(major)).toBeLessThan(Number(most))
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
test.skipIf(!hasSystemd)('systemd-analyze accepts the units, also where the programs are installed elsewhere', () => {
  const root = tempFolder()
  const units = UNITS.map((file) => {
    const copy = path.join(root, path.basename(file))
    writeFileSync(copy, read(file).replaceAll('/usr/bin/node', process.execPath))
    return copy
  })
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})

test('the purge of systemd has the user, the state, the variables and the sandbox of the service', () => {
  const settings = (file: string) => new Set(read(file).match(/^[A-Z]\w+=.*$/gm))
  const [service, purge] = [
    settings('deploy/systemd/service.service'),
    settings('deploy/systemd/service-purge.service'),
  ]
  const differing = [...purge].filter((setting) => !service.has(setting)).map((setting) => setting.split('=')[0])
  expect(differing).toEqual(['Description', 'Documentation', 'Type', 'ExecStart'])
})
