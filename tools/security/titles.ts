// The titles of all tests, verbatim.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'

export interface Titled {
  /** Relative to the project. */
  file: string
  title: string
}

// After `test(`, after `test.each(…)(` or `test.concurrent.each(…)(` on one line, or after the line that ends a table of cases.
const TITLE = /^ *(?:(?:test|describe)(?:\.\w+)*(?:\(.*\))?|[\])]*\)) *\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gm

/** Every test and group of tests. */
export function testTitles(): Titled[] {
  const files = readdirSync(path.join(packageRoot, 'test'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .flatMap((name) => {
      const text = readFileSync(path.join(packageRoot, 'test', name), 'utf8')
      const file = `test/${name.replaceAll(path.sep, '/')}`
      return [...text.matchAll(TITLE)].map(([, , title = '']) => ({
        file,
        title: title.replaceAll(/\\(['"`])/g, '$1'),
      }))
    })
}
