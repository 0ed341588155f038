import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { commitsOf, strayCommits } from '../../tools/commits.ts'
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

describe('a history that cannot be judged says so', () => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd, stdio: 'pipe' })

  test('without git, and in a shallow clone; a whole one is told from its beginning, without merges', () => {
    const whole = tempFolder()
    expect(commitsOf(whole)).toContain('no git checkout')
    git(whole, 'init', '--quiet', '--initial-branch=main')
    git(whole, 'commit', '--quiet', '--allow-empty', '--message=begin')
    git(whole, 'checkout', '--quiet', '-b', 'side')
    git(whole, 'commit', '--quiet', '--allow-empty', '--message=fix(lib): a')
    git(whole, 'checkout', '--quiet', 'main')
    git(whole, 'merge', '--quiet', '--no-ff', '--message=merge side', 'side')
    expect(commitsOf(whole)).toEqual([
      expect.stringMatching(/^\w+ begin$/),
      expect.stringMatching(/^\w+ fix\(lib\): a$/),
    ])

    const shallow = path.join(tempFolder(), 'clone')
    git(whole, 'clone', '--quiet', '--depth=1', `file://${whole}`, shallow)
    expect(commitsOf(shallow)).toContain('shallow')
  })
})
