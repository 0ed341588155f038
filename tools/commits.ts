// The subjects of commits, from the first one on that is a Conventional Commit with a scope: CONTRIBUTING.md, Commits.
// `node dist/tools/commits.js` fails with a list of those that are not.
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/lib/paths.ts'

const FORM = /^(feat|fix|perf|refactor|test|docs|build|chore)\([^()\s][^()]*\)!?: \S/

/** Of commits as `hash subject`, oldest first, those after the first one of the form that do not have it. */
export function strayCommits(commits: readonly string[]): string[] {
  const hasForm = (commit: string) => FORM.test(commit.slice(commit.indexOf(' ') + 1))
  const first = commits.findIndex(hasForm)
  return first < 0 ? [] : commits.slice(first).filter((commit) => !hasForm(commit))
}

/** The strays of the checkout at `root`, but for those that a remote has: what has landed stays as it is. Or why they cannot be told. */
export function straysIn(root: string): string[] | string {
  const shallow = git(root, 'rev-parse', '--is-shallow-repository')
  if (shallow === undefined) return 'this is no git checkout'
  if (shallow === 'true') return 'this clone is shallow'
  const landed = new Set(log(root, '--remotes'))
  return strayCommits(log(root, 'HEAD')).filter((commit) => !landed.has(commit))
}

/** Commits as `hash subject`, oldest first, without merges. */
const log = (root: string, which: string): string[] =>
  (git(root, 'log', '--no-merges', '--topo-order', '--reverse', '--format=%h %s', which) ?? '')
    .split('\n')
    .filter(Boolean)

function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 })
  return status === 0 ? stdout.trim() : undefined
}

function main(): void {
  const strays = straysIn(packageRoot)
  if (typeof strays === 'string') {
    console.log(`subjects of commits: ${strays}, nothing to check`)
    return
  }
  for (const commit of strays) console.error(`${commit}: not \`type(scope): what\`, see CONTRIBUTING.md, Commits`)
  if (strays.length > 0) process.exitCode = 1
  else console.log('subjects of commits: as they should be')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
