// The build of an earlier release, made once from its commit and kept in the cache folder of the user. It runs with the packages that are
// installed here.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'

const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'service-releases')
const programOf = (folder: string) => path.join(folder, 'dist/bin/service.js')

/** Whether the repository has the commit: a shallow clone or a package has not. */
export const hasCommit = (commit: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: packageRoot }).status === 0

/** Gives a build the packages of this clone. A build that is kept was made by another clone, which may have been deleted. */
function linkPackages(folder: string): void {
  const link = path.join(folder, 'node_modules')
  rmSync(link, { force: true })
  symlinkSync(path.join(packageRoot, 'node_modules'), link)
}

/** The program `service` of a commit. */
export function buildRelease(commit: string): string {
  const folder = path.join(cache, `${commit}-node-${process.versions.modules}`)
  if (existsSync(programOf(folder))) {
    linkPackages(folder)
    return programOf(folder)
  }
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(path.join(cache, 'building-'))
  const archive = execFileSync('git', ['archive', commit], { cwd: packageRoot, maxBuffer: 2 ** 29 })
  execFileSync('tar', ['-x', '-C', fresh], { input: archive })
  linkPackages(fresh)
  execFileSync(process.execPath, ['tools/prepare.mjs'], { cwd: fresh, stdio: 'ignore' })
  renameSync(fresh, folder)
  return programOf(folder)
}
