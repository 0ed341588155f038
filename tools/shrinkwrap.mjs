// Writes npm-shrinkwrap.json, which the packed tarball has: an installation of it gets the versions and hashes of package-lock.json, also of the packages
// that others depend on. `npm pack` runs this before, and with --remove after, because npm would prefer the file to package-lock.json in a checkout.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './prepare.mjs'

const file = path.join(root, 'npm-shrinkwrap.json')
if (process.argv.includes('--remove')) rmSync(file, { force: true })
else {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  // npm installs everything that a shrinkwrap names, so that packages for development must not be in it.
  const kept = Object.entries(lock.packages).filter(([, { dev }]) => !dev)
  lock.packages = Object.fromEntries(kept.map(([at, entry]) => [at, at === '' ? shipped(entry) : entry]))
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}

/** The root without its packages for development. @param {Record<string, unknown>} entry */
function shipped({ devDependencies: _, ...entry }) {
  return entry
}
