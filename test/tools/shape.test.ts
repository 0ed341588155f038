import { describe, expect, test } from 'vitest'
import { type SourceFile, shapeFaults } from '../../tools/shape.ts'

const file = (name: string, text: string): SourceFile => ({ file: name, text })

describe('exported names', () => {
  const export_ = 'export interface Session {}\n'

  test('a name that two files of src, ui and bench export is reported', () => {
    expect(shapeFaults([file('src/a.ts', export_), file('ui/b.ts', 'export const Session = 1\n')], [])).toEqual([
      'ui/b.ts: Session is also exported by src/a.ts: rename one of them',
    ])
  })

  test('overloads in one file, default exports and other folders are not reported', () => {
    const overloads = '/** A. */\nexport function at(a: string): void\n/** A. */\nexport function at(a: number): void\n'
    const worker = '/** Runs. */\nexport default function run() {}\n'
    const files = [overloads, worker].flatMap((text, i) => [file(`src/${i}.ts`, text)])
    expect(shapeFaults([...files, file('workers/c.ts', worker), file('test/at.ts', overloads)], [])).toEqual([])
  })
})

describe('the other rules', () => {
  test.each([
    ['a file over 300 lines', file('src/a.ts', 'a\n'.repeat(301)), 'src/a.ts: 301 lines; 300 is the limit'],
    [
      'an exported function without a comment',
      file('src/a.ts', 'export function a() {}\n'),
      'src/a.ts:1: a has no doc comment',
    ],
    [
      'console outside the command line',
      file('src/a.ts', "console.log('a')\n"),
      'src/a.ts:1: console is not allowed here',
    ],
    [
      'a spread before other members on the path of tokens',
      file('src/crypto/batch.ts', "  return { ...signer, payload: 'a' }\n"),
      'src/crypto/batch.ts:1: an object that begins with a spread and has further members is not allowed here',
    ],
    [
      'members in a literal that is spread',
      file('src/grants/ciba.ts', '    ...{ client, sub },\n'),
      'src/grants/ciba.ts:1: a literal that is spread into another one: write its members on lines of their own is not allowed here',
    ],
  ])('%s is reported', (_, source, fault) => {
    expect(shapeFaults([source], [])).toEqual([expect.stringContaining(fault)])
  })

  test('a folder with more than 30 files is reported', () => {
    const files = Array.from({ length: 31 }, (_, i) => file(`src/a/${i}.ts`, ''))
    expect(shapeFaults(files, [])).toEqual(['src/a: 31 files; 30 is the limit: group them by subject'])
    expect(shapeFaults(files.slice(1), [])).toEqual([])
  })

  test('a migration number that is used twice is reported', () => {
    expect(shapeFaults([], ['001_a.sql', '002_b.sql', '002_c.sql'])).toEqual([
      'migrations/002_b.sql: NNN_name.sql, each number once',
    ])
  })
})
