// Completes package-lock.json after a change of dependencies. A registry that serves only some platforms makes npm leave
// the others out of the lockfile, and `npm ci` then refuses it. The missing entries are written from the dependencies of the parent:
// name and exact version; npm asks for the integrity when it installs one.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './prepare.mjs'

const file = path.join(root, 'package-lock.json')
const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = Object.entries(lock.packages).flatMap(([parent, entry]) =>
  Object.entries(parent === '' ? {} : (entry.optionalDependencies ?? {}))
    .filter(([name]) => !lock.packages[`${parent}/node_modules/${name}`] && !lock.packages[`node_modules/${name}`])
    .map(([name, version]) => [`node_modules/${name}`, platformPackage(name, version, entry)]),
)

/** The entry of a package that contains a native build for one platform. @param {string} name @param {string} version @param {any} parent */
function platformPackage(name, version, parent) {
  const [, os, cpu, abi = ''] =
    /-(android|darwin|freebsd|linux|openharmony|win32)-([a-z0-9]+)(?:-([a-z]+))?$/.exec(name) ?? []
  if (!os || !cpu || !/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${name}@${version} is not a platform package`)
  const libc = os === 'linux' ? [abi.startsWith('musl') ? 'musl' : 'glibc'] : undefined
  return {
    version,
    cpu: [cpu],
    ...(parent.dev ? { dev: true } : {}),
    ...(libc ? { libc } : {}),
    optional: true,
    os: [os],
  }
}

if (added.length > 0) {
  const packages = Object.entries({ ...lock.packages, ...Object.fromEntries(added) })
  lock.packages = Object.fromEntries(packages.sort(([a], [b]) => a.localeCompare(b, 'en')))
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
console.log(`${added.length} packages of other platforms added to package-lock.json`)
