import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { strayCommits, straysIn } from '../../tools/commits.ts'
import { tempFolder } from '../support/folder.ts'

describe('the subject of a commit', () => {
  test('may be anything before the first Conventional Commit', () => {
    expect(strayCommits(['1 begin', '2 dpop: a proof has an iat', '3 docs: as it is'])).toEqual([])
    expect(strayCommits(['1 begin', '2 docs: as it is', '3 fix(dpop): refuse a proof without iat'])).toEqual([])
  })

  test.each(['feat(admin/ui): a list', 'fix(store)!: ids are text', 'chore(npm, ci): versions'])(
    'may be %s',
    (subject) => expect(strayCommits(['1 fix(lib): a', `2 ${subject}`])).toEqual([]),
  )

  test.each([
    'dpop: a proof has an iat',
    'docs: without a scope',
    'feature(x): y',
    'fix(): y',
    'fix(x):y',
    'Fix(x): y',
    'fix(x): ',
  ])('may not be "%s" after it', (subject) =>
    expect(strayCommits(['1 fix(lib): a', `2 ${subject}`, '3 fix(lib): b'])).toEqual([`2 ${subject}`]),
  )
})

describe('of a checkout', () => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd, stdio: 'pipe' })
  const commit = (cwd: string, subject: string) =>
    git(cwd, 'commit', '--quiet', '--allow-empty', `--message=${subject}`)

  test('those are told that no remote has; merges may be called anything', () => {
    const [whole, clone] = [tempFolder(), path.join(tempFolder(), 'clone')]
    git(whole, 'init', '--quiet', '--initial-branch=main')
    for (const subject of ['begin', 'fix(lib): a', 'landed all the same']) commit(whole, subject)
    expect(straysIn(whole)).toEqual([expect.stringMatching(/^\w+ landed all the same$/)])

    git(path.dirname(clone), 'clone', '--quiet', whole, clone)
    expect(straysIn(clone)).toEqual([])
    git(clone, 'checkout', '--quiet', '-b', 'side')
    commit(clone, 'not landed yet')
    git(clone, 'checkout', '--quiet', 'main')
    git(clone, 'merge', '--quiet', '--no-ff', '--message=merge side', 'side')
    expect(straysIn(clone)).toEqual([expect.stringMatching(/^\w+ not landed yet$/)])
  })

  test('without git, and in a shallow clone, it says that there is nothing to check', () => {
    const [whole, shallow] = [tempFolder(), path.join(tempFolder(), 'clone')]
    expect(straysIn(whole)).toContain('no git checkout')
    git(whole, 'init', '--quiet', '--initial-branch=main')
    commit(whole, 'begin')
    commit(whole, 'fix(lib): a')
    git(whole, 'clone', '--quiet', '--depth=1', `file://${whole}`, shallow)
    expect(straysIn(shallow)).toContain('shallow')
  })
})
