// The files of deploy/, the Dockerfile, the scripts and the documents, checked by the programs that their users have: Helm, the schemas of
// three versions of Kubernetes, hadolint, shellcheck, lychee, gitleaks. A program that cannot be installed is left out with one line.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { gitleaks, helm, python } from '../interop/toolchain.ts'
import { tempFile } from '../support/folder.ts'

const [helmChain, pythonChain, gitleaksChain] = await Promise.all([helm(), python('deploy.txt'), gitleaks()])
const commandOf = (chain: typeof helmChain) => ('command' in chain ? chain.command[0] : undefined)
const HELM = commandOf(helmChain)
const PYTHON = commandOf(pythonChain)
const GITLEAKS = commandOf(gitleaksChain)

/** Runs a program in the repository. Returns its exit code and everything that it printed. */
function ran(program: string, ...args: string[]): { code: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: packageRoot, encoding: 'utf8' })
  return { code: status, text: stdout + stderr }
}
const installed = (name: string) => path.join(path.dirname(PYTHON ?? ''), name)

const MANIFEST = 'deploy/kubernetes/service.yaml'
const VERSIONS = ['1.25', '1.31', '1.37']
const SQLITE = 'config.storage.driver=sqlite,config.signing.key_store=keyfile'
const template = (...values: string[]) => {
  const set = values.flatMap((value) => ['--set', value])
  return execFileSync(HELM ?? '', ['template', 'service', 'deploy/chart', '--kube-version', '1.37', ...set], {
    cwd: packageRoot,
    encoding: 'utf8',
  })
}
const validated = (version: string, file: string) =>
  ran(installed('kubernetes-validate'), '--strict', '-k', version, file)

describe.skipIf(!HELM)('the chart', () => {
  test('passes helm lint', () => {
    expect(ran(HELM ?? '', 'lint', '--strict', 'deploy/chart')).toMatchObject({ code: 0 })
  })

  test(`${MANIFEST} is what it prints with its default values`, () => {
    const manifest = readFileSync(path.join(packageRoot, MANIFEST), 'utf8')
    expect(manifest.slice(manifest.indexOf('---\n'))).toBe(template())
  })

  const variants: [string, string[], kinds: string[]][] = [
    ['on PostgreSQL', [], ['CronJob', 'PodDisruptionBudget']],
    ['that purges inside of the server', ['config.retention.enabled=true'], ['PodDisruptionBudget']],
    ['on SQLite', [SQLITE], ['PersistentVolumeClaim']],
    [
      'with an ingress',
      ['ingress.enabled=true', 'ingress.tlsSecretName=tls', 'config.server.trusted_proxies={10.1.2.3}'],
      ['CronJob', 'Ingress', 'PodDisruptionBudget'],
    ],
    ['without a network policy', ['networkPolicy.enabled=false'], ['CronJob', 'PodDisruptionBudget']],
  ]
  test('an ingress needs the addresses of its controller', () => {
    expect(() => template('ingress.enabled=true')).toThrow(/config\.server\.trusted_proxies must have the addresses/)
  })

  test.each(variants)('%s fits the schemas of Kubernetes, and its configuration is valid', (_, values, extra) => {
    const text = template(...values)
    const manifests = parseAllDocuments(text).map(
      (each) => each.toJS() as { kind: string; data?: Record<string, string> },
    )
    const policy = values.includes('networkPolicy.enabled=false') ? [] : ['NetworkPolicy']
    const expected = ['ConfigMap', 'Deployment', 'Service', 'Service', ...policy, ...extra]
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(expected.sort())
    const configuration = manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['service.yaml']
    const secret = 'a secret of the tests, long enough'
    const { warnings } = loadConfig(tempFile('service.yaml', configuration), {
      SERVICE_STORAGE_POSTGRES_DSN: 'postgres://service:x@db/service',
      SERVICE_ADMIN_API_KEY: secret,
      SERVICE_SESSION_SECRET: secret,
      SERVICE_DATA_ENCRYPTION_KEY: 'ab'.repeat(32),
    })
    expect(warnings).toEqual([])
    if (!PYTHON) return
    const file = tempFile('manifests.yaml', text)
    for (const version of VERSIONS) expect(validated(version, file), version).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!PYTHON)('the programs of Python', () => {
  test.each(VERSIONS)(`${MANIFEST} fits the schemas of Kubernetes %s, and a wrong one is refused`, (version) => {
    expect(validated(version, MANIFEST)).toMatchObject({ code: 0 })
    const text = readFileSync(path.join(packageRoot, MANIFEST), 'utf8')
    const wrong = tempFile('wrong.yaml', text.replace('replicas: 2', 'replicas: "two"'))
    expect(validated(version, wrong).code).not.toBe(0)
  })

  test('hadolint has nothing against the Dockerfile', () => {
    expect(ran(installed('hadolint'), 'Dockerfile')).toEqual({ code: 0, text: '' })
  })

  test('shellcheck has nothing against the scripts', () => {
    expect(ran(installed('shellcheck'), '.ci/run', 'test/tools/image/base.sh')).toEqual({ code: 0, text: '' })
  })

  test('lychee finds every file and heading that documents link to', () => {
    const documents = [
      'docs',
      'deploy',
      'bench',
      'examples',
      'README.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
      'SECURITY.md',
    ]
    const { code, text } = ran(installed('lychee'), '--offline', '--include-fragments', '--no-progress', ...documents)
    expect(code, text).toBe(0)
  })
})

describe.skipIf(!GITLEAKS)('gitleaks', () => {
  const scan = (folder: string) =>
    ran(GITLEAKS ?? '', 'dir', folder, '--no-banner', '--redact', '--verbose', '--config', '.gitleaks.toml')

  test('finds no secret in the repository, and finds one that is planted', () => {
    for (const folder of ['src', 'workers', 'ui', 'bench', 'tools', 'docs', 'deploy', 'examples', 'README.md'])
      expect(scan(folder), folder).toMatchObject({ code: 0 })
    const planted = tempFile('planted.ts', `const aws = { key: 'AKIA${'Q4XW7ZP2M6JT5RHN'}' }\n`)
    expect(scan(path.dirname(planted)).code).toBe(1)
  })
})
