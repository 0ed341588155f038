import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { strayCommits, straysIn } from '../../tools/commits.ts'
import { tempFolder } from '../support/folder.ts'

describe('the subject of a commit', () => {
  test.each(['feat(admin/ui): a list', 'fix(store)!: ids are text', 'chore(npm, ci): versions'])(
    'may be %s',
    (subject) => expect(strayCommits([`1 ${subject}`])).toEqual([]),
  )

  test.each([
    'dpop: a proof has an iat',
    'docs: without a scope',
    'feature(x): y',
    'fix(): y',
    'fix(x):y',
    'Fix(x): y',
    'fix(x): ',
  ])('may not be "%s"', (subject) =>
    expect(strayCommits(['1 fix(lib): a', `2 ${subject}`, '3 fix(lib): b'])).toEqual([`2 ${subject}`]),
  )
})

describe('the commits of a checkout', () => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd,
      stdio: 'pipe',
      encoding: 'utf8',
    }).trim()
  const commit = (cwd: string, subject: string) => {
    git(cwd, 'commit', '--quiet', '--allow-empty', `--message=${subject}`)
    return git(cwd, 'rev-parse', 'HEAD')
  }

  test('are checked from the base commit on, also in a clone; merge commits may have any subject', () => {
    const [whole, clone] = [tempFolder(), path.join(tempFolder(), 'clone')]
    git(whole, 'init', '--quiet', '--initial-branch=main')
    const base = commit(whole, 'begin')
    commit(whole, 'fix(lib): a')
    git(path.dirname(clone), 'clone', '--quiet', whole, clone)
    expect(straysIn(clone, base)).toEqual([])
    git(clone, 'checkout', '--quiet', '-b', 'side')
    commit(clone, 'no scope')
    git(clone, 'checkout', '--quiet', 'main')
    git(clone, 'merge', '--quiet', '--no-ff', '--message=merge side', 'side')
    expect(straysIn(clone, base)).toEqual([expect.stringMatching(/^\w+ no scope$/)])
  })

  test('are not checked without git or in a shallow clone, and the reason is printed', () => {
    const [whole, shallow] = [tempFolder(), path.join(tempFolder(), 'clone')]
    expect(straysIn(whole)).toContain('not a git checkout')
    git(whole, 'init', '--quiet', '--initial-branch=main')
    const base = commit(whole, 'begin')
    commit(whole, 'fix(lib): a')
    git(whole, 'clone', '--quiet', '--depth=1', `file://${whole}`, shallow)
    expect(straysIn(shallow, base)).toContain(base.slice(0, 7))
  })
})
