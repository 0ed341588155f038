// The import rules over the sources, imports of types included: folders import to the left only, and no files import each other
// in a circle.
import path from 'node:path'

/** The files that each file imports, as paths from the project's folder. */
export type Imports = ReadonlyMap<string, readonly string[]>

/** From left to right. Folders of one layer do not import each other. */
const LAYERS = [
  'packages',
  'lib',
  'records',
  'config',
  'telemetry',
  'http net store',
  'crypto',
  'context.ts',
  'oauth',
  'broker',
  'grants',
  'events',
  'endpoints admin',
  'mcp',
  'scim',
  'server',
  'cli ui workers',
  'bench',
  'command_line.ts',
  'main.ts',
  'tools',
].map((layer) => layer.split(' '))

const IMPORT = /^(?:import|export) [^'\n]*?from '(\.[^']+)'|^} from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/** Every import that breaks a rule, as human-readable lines. */
export const importFaults = (imports: Imports): string[] => [...upwards(imports), ...circles(imports)]

function upwards(imports: Imports): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => !mayImport(file, target))
      .map((target) => `${file} imports ${target}, which is not to its left`),
  )
}

function mayImport(file: string, target: string): boolean {
  const [from, to] = [roomOf(file), roomOf(target)]
  return from === to || layerOf(to) < layerOf(from)
}

/** The folder of a file: the folder within src, or the top-level folder. A file directly in src counts as a folder. */
const roomOf = (file: string): string => (/^src\/([^/]+)/.exec(file) ?? /^([^/]+)/.exec(file))?.[1] as string

function layerOf(room: string): number {
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room))
  if (layer < 0) throw new Error(`${room} has no layer in tools/layers.ts`)
  return layer
}

/** The circles, found by depth-first search: a file that can be reached from itself. */
function circles(imports: Imports): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (file: string, way: readonly string[]): void => {
    const at = way.indexOf(file)
    if (at >= 0) found.push(`a circle of imports: ${[...way.slice(at), file].join(' -> ')}`)
    if (at >= 0 || done.has(file)) return
    for (const target of imports.get(file) ?? []) visit(target, [...way, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return found
}

/** The relative imports of a file, of values and of types. */
export const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(IMPORT)].map((match) =>
    path.posix.join(path.posix.dirname(file), match[1] ?? match[2] ?? match[3] ?? ''),
  )
