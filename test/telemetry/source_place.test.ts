import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { withSourcePlaces } from '../../src/telemetry/source_place.ts'
import { tempFolder } from '../support/folder.ts'

/** A built file of one line, whose column 10 (from 1) is line 7 of a source. */
function built(folder: string): string {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, 'a-b.js')
  const source = path.relative(folder, path.join(packageRoot, 'src/server/serve.ts'))
  writeFileSync(`${file}.map`, JSON.stringify({ version: 3, sources: [source], names: [], mappings: 'SAMA' }))
  return file
}

test.each(['plain', 'with (two) words+@', 'ünder%20'])(
  'a location in a folder named %s is mapped to its source',
  (name) => {
    const file = built(path.join(tempFolder(), name))
    const stack = `Error: no\n    at f (${pathToFileURL(file)}:1:12)\n    at ${pathToFileURL(file)}:1:10\n    at node:internal/x:1:2`
    expect(withSourcePlaces(stack)).toBe(
      'Error: no\n    at f (src/server/serve.ts:7)\n    at src/server/serve.ts:7\n    at node:internal/x:1:2',
    )
  },
)

test('a location without a source map is unchanged', () => {
  const stack = `at f (file:///tmp/no-such.js:1:2) and ${built(tempFolder())}:1:3`
  expect(withSourcePlaces(stack)).toBe(stack)
})
