// Where the running code comes from: stacks and places in the log name lines of the sources, not of the bundle.
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../lib/paths.ts'

/** The maps that were needed; reading one takes milliseconds. */
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

/** A text with every place in built code as a place in its source, from the root of the package: `src/oauth/issue.ts:57`. Where there is no map, the place stays. */
export const withSourcePlaces = (text: string): string =>
  text.replace(PLACE, (place, named: string, line: string, column: string) => {
    const file = named.startsWith('file:') ? fileURLToPath(named) : named
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return place
    const source = path.resolve(path.dirname(file), entry.originalSource)
    return `${path.relative(packageRoot, source)}:${entry.originalLine + 1}`
  })
