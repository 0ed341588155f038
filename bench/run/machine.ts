// The machine and the versions of a run.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import path from 'node:path'
import { readBuild } from '../../src/lib/build.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import type { Report } from '../report/report.ts'

const TMPFS = 0x01021994

/** Reads the properties of the machine. */
export function readMachine(): Report['machine'] {
  const cores = cpus()
  return {
    cores: cores.length,
    model: cores[0]?.model.trim() ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    os: `${process.platform} ${release()}`,
    node: process.versions.node,
    openssl: process.versions.openssl,
    load_average: loadavg()[0] ?? 0,
    tmpfs: statfsSync(tmpdir()).type === TMPFS,
  }
}

/** Version and commit of the service. In a checkout, the commit is marked when files were changed. */
export function readVersion(): { version: string; commit: string } {
  const { version, commit } = readBuild()
  if (!existsSync(path.join(packageRoot, '.git'))) return { version, commit }
  try {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: packageRoot, stdio: 'pipe' }).toString().trim()
    const changed = git('status', '--porcelain', '--untracked-files=no') !== ''
    return { version, commit: git('rev-parse', '--short=12', 'HEAD') + (changed ? ' with changes' : '') }
  } catch {
    return { version, commit }
  }
}

/** Versions of the installed load generators and peers. */
export function readVersions(): Record<string, string> {
  const installed = ['autocannon', 'oidc-provider'].flatMap((name) => {
    const file = path.join(packageRoot, 'node_modules', name, 'package.json')
    return existsSync(file) ? [[name, (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version]] : []
  })
  return Object.fromEntries(installed)
}
