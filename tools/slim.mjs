// Runs after npm has installed the packages: removes native builds that this platform cannot load, and what is left of compiling.
// They are two thirds of an installation. Nothing fails when a file or a package is missing. Plain JavaScript without imports of
// packages, because it runs in the installed package too.
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const { platform, arch } = process

/**
 * What to remove of a package: in a folder, every entry that matches and is not to be kept.
 * @type {readonly { package: string, folder: string, remove: RegExp, keep?: RegExp }[]}
 */
const RULES = [
  { package: 'uWebSockets.js', folder: '.', remove: /^uws_.+\.node$/, keep: new RegExp(`^uws_${platform}_${arch}_`) },
  // The only build of this package that a supported Node version loads is the one for Node 20 (ABI 115).
  {
    package: 'uwebsockets-glibc227',
    folder: 'binaries',
    remove: /^uws_.+\.node$/,
    keep: new RegExp(`^uws_${platform}_${arch}_115`),
  },
  { package: 'uwebsockets-glibc227', folder: 'dist', remove: /\.node$/ },
  {
    package: 'better-sqlite3-napi',
    folder: 'prebuilds',
    remove: /\.node$/,
    keep: new RegExp(`^${platform}(musl)?-${arch}\\.`),
  },
  { package: 'better-sqlite3', folder: 'build/Release', remove: /^(obj|obj\.target|sqlite3\.a|test_extension\.node)$/ },
]

/** The folder of an installed package: below this one, or beside it where npm has hoisted it. @param {string} name */
function folderOf(name) {
  let folder = realpathSync(path.dirname(path.dirname(fileURLToPath(import.meta.url))))
  for (;;) {
    const found = path.join(folder, 'node_modules', name)
    if (existsSync(found)) return found
    const parent = path.dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
}

for (const { package: name, folder, remove, keep } of RULES) {
  const place = path.join(folderOf(name) ?? '', folder)
  if (!existsSync(place) || !folderOf(name)) continue
  for (const entry of readdirSync(place))
    if (remove.test(entry) && !keep?.test(entry)) rmSync(path.join(place, entry), { recursive: true, force: true })
}
