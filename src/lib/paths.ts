// The locations of the files of this package, for the sources and for the build.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

function findRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url))
  // Not package.json: dist/bin has one, too.
  while (!existsSync(path.join(folder, 'migrations'))) {
    const parent = path.dirname(folder)
    if (parent === folder) throw new Error('the folder migrations of the service is missing')
    folder = parent
  }
  return folder
}

/** The folder of package.json and of everything else that ships. */
export const packageRoot = findRoot()
/** A built program: `service`, or the entry point of a worker thread. */
export const programFile = (name: string): string => path.join(packageRoot, 'dist/bin', `${name}.js`)
export const migrationsFolder = path.join(packageRoot, 'migrations')
/** The folder of the built admin page. */
export const pageFolder = path.join(packageRoot, 'dist/ui')
/** The built script of the pages for users. */
export const scriptFile = path.join(packageRoot, 'dist/script.js')
