// Source locations: stacks and call sites in the log name lines of the sources, not of the bundle.
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../lib/paths.ts'

/** Cache of source maps; reading one takes milliseconds. */
const maps = new Map<string, SourceMap | undefined>()

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`))
  return maps.get(file)
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as ConstructorParameters<typeof SourceMap>[0])
  } catch {
    return undefined
  }
}

/** `file:line:column` of built code, the file as a path or URL. */
const PLACE = /((?:file:\/\/)?\/\S+?\.js):(\d+):(\d+)/g

/** Replaces every location in built code with the location in its source, such as `src/oauth/tokens/issue.ts:57`. Locations without a source map stay. */
export const withSourcePlaces = (text: string): string =>
  text.replace(PLACE, (place, named: string, line: string, column: string) => {
    const built = named.startsWith('file:') ? fileURLToPath(named) : named
    // Code that was compiled at the build has the place of the build on Node 20.
    const file = built.replace(/^.*(?=\/dist\/bin\/)/, packageRoot)
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return place
    const source = path.resolve(path.dirname(file), entry.originalSource)
    return `${path.relative(packageRoot, source)}:${entry.originalLine + 1}`
  })
