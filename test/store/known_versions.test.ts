// The versions that show changes of other instances, and when a lower one means that the database is in an earlier state.
import { beforeEach, describe, expect, test } from 'vitest'
import { KnownVersions } from '../../src/store/postgres/versions.ts'

const name = 'records-1'
const NOTICE = { ours: false, detail: '[]' }
let found: unknown[]
let versions: KnownVersions
beforeEach(() => {
  found = []
  versions = new KnownVersions(
    (about) => found.push(about ?? 'everything'),
    () => found.push('went back'),
  )
  versions.receive({ name, version: 4 })
  found = []
})

describe.each([
  [
    'a query',
    (version: number, asked: ReadonlyMap<string, number>) => versions.compare([{ name, version }], asked, true),
  ],
  [
    'a new connection',
    async (version: number, asked: ReadonlyMap<string, number>) => versions.reset([{ name, version }], asked),
  ],
])('the answer to %s', (_, read) => {
  test('that a notification overtakes is no step back', async () => {
    const asked = versions.now()
    versions.receive({ name, version: 5 }, NOTICE)
    versions.receive({ name, version: 6 }, NOTICE)
    await read(5, asked)
    versions.receive({ name, version: 7 }, NOTICE)
    expect(found).toEqual([[], [], []])
  })

  test('with a lower version than before it was asked is a step back', async () => {
    await read(3, versions.now())
    expect(found).toContain('went back')
    versions.receive({ name, version: 4 }, NOTICE)
    expect(found.at(-1)).toEqual([])
  })
})
