import { describe, expect, test } from 'vitest'
import { languageFaults, titleFaults } from '../../tools/language.ts'

const faultsOf = (text: string, file = 'src/a.ts') => languageFaults([{ file, text }])

describe('the word list', () => {
  test('a form of the list is reported with its line and the standard form', () => {
    expect(faultsOf('const a = 1\n// Whoever waits.')).toEqual([
      'src/a.ts:2: "Whoever": write the role: "a client that", "everyone who"',
    ])
  })

  test.each([
    'at most so many items',
    'the token is had from the store',
    'Who is not suspended may continue',
    'first. Of a lane that was idle, the statistics',
    'it is put in the place of the database',
    'the instance hears of a change',
    'callers are told',
    'what others keep',
    'the title as it stands',
    'which nobody waits for',
    'looks whether it is held',
    'the way in',
    'the hub',
    'limitWire(socket)',
    'the news of an instance',
    'the report says so',
    'RETRY_PATIENCE_MS',
    'it goes on by itself',
    'somebody sent it',
  ])('%s', (text) => {
    expect(faultsOf(text)).not.toEqual([])
  })

  test('a form is found where a line breaks inside it, also in a comment', () => {
    expect(faultsOf('/**\n * Adds so\n * many rows. */')).toEqual([
      'src/a.ts:2: "so many": write "the number of", "at most"',
    ])
    expect(faultsOf('so\nmany rows', 'docs/a.md')).toHaveLength(1)
  })

  test('words that only contain a form, and standard uses of its words, are not reported', () => {
    expect(
      faultsOf(
        '// GitHub newsletter; a client that had one; cookies that cannot be told apart; the token of a client that',
      ),
    ).toEqual([])
  })

  test('a form is not reported in files that it does not apply to', () => {
    expect(faultsOf('there is no user nobody', 'bench/peers/postgres_server.ts')).toEqual([])
    expect(faultsOf('there is no user nobody', 'bench/peers/peer.ts')).toHaveLength(1)
  })

  test('a test title with a form of the list for titles is reported with the file and the title', () => {
    const titles = ['nobody gets a token', 'jti and key are told apart'].map((title) => ({
      file: 'test/a.test.ts',
      title,
    }))
    expect(titleFaults(titles)).toEqual([
      'test/a.test.ts (nobody gets a token):1: "nobody": write the role: "a client", "another user", "no request"',
    ])
  })
})
