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

/** The commits of the checkout at `root` as `hash subject`, oldest first, without merges; or why they cannot be told. */
export function commitsOf(root: string): string[] | string {
  const shallow = git(root, 'rev-parse', '--is-shallow-repository')
  if (shallow === undefined) return 'this is no git checkout'
  if (shallow === 'true') return 'this clone is shallow'
  return (git(root, 'log', '--no-merges', '--topo-order', '--reverse', '--format=%h %s') ?? '')
    .split('\n')
    .filter(Boolean)
}

function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 })
  return status === 0 ? stdout.trim() : undefined
}

function main(): void {
  const commits = commitsOf(packageRoot)
  const strays = typeof commits === 'string' ? [] : strayCommits(commits)
  for (const commit of strays) console.error(`${commit}: not \`type(scope): what\`, see CONTRIBUTING.md, Commits`)
  if (strays.length > 0) process.exitCode = 1
  else
    console.log(
      `subjects of commits: ${typeof commits === 'string' ? `${commits}, nothing to check` : 'as they should be'}`,
    )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
