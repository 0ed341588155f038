// Checks the subjects of commits: each is a Conventional Commit with a scope (CONTRIBUTING.md, Commits).
import { spawnSync } from 'node:child_process'

const FORM = /^(feat|fix|perf|refactor|test|docs|build|chore)\([^()\s][^()]*\)!?: \S/
/** The last commit before the rule applied. Older commits cannot be changed. */
const BASE = '60b19c5ff9c7feb40b64510d6fc625886cbc771e'

/** Takes commits as `hash subject`; returns those whose subject does not follow the rule. */
export const strayCommits = (commits: readonly string[]): string[] =>
  commits.filter((commit) => !FORM.test(commit.slice(commit.indexOf(' ') + 1)))

/** Takes a checkout and the commit after which the rule holds; returns the commits that break the rule, or why they cannot be determined. */
export function straysIn(root: string, base = BASE): string[] | string {
  if (git(root, 'rev-parse', 'HEAD') === undefined) return 'this is not a git checkout with commits'
  const commits = git(root, 'log', '--no-merges', '--topo-order', '--reverse', '--format=%h %s', `${base}..HEAD`)
  if (commits === undefined) return `this clone does not contain commit ${base.slice(0, 7)}`
  return strayCommits(commits.split('\n').filter(Boolean))
}

function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 })
  return status === 0 ? stdout.trim() : undefined
}
