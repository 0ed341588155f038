// Loads the bundle; the build copies this file to dist/bin. Beside most files of the bundle is the code that V8 compiled at the build
// (tools/compile.mjs), so that the start need not parse and compile them. V8 ignores the code of another version, and compiles as usual.
'use strict'
const { readFileSync } = require('node:fs')
const path = require('node:path')
const v8 = require('node:v8')
const vm = require('node:vm')
const { isMainThread } = require('node:worker_threads')

// By default the old generation may have three times as much garbage as live data before it is collected: hostile requests with large
// documents would take 100 MB more than the caches need. It is set before any code is loaded, because V8 refuses code that was compiled
// with other flags.
if (isMainThread) v8.setFlagsFromString('--heap-growing-percent=50')

const PARAMETERS = 'exports, require, module, __filename, __dirname'
/** @type {Map<string, { exports: unknown }>} */
const modules = new Map()

/** @param {string} file */
function codeOf(file) {
  try {
    return readFileSync(`${file}.code`)
  } catch {
    return undefined
  }
}

/** Runs a file of the bundle, once. Returns its exports. @param {string} file @returns {unknown} */
function load(file) {
  const known = modules.get(file)
  if (known) return known.exports
  const module = { exports: {} }
  modules.set(file, module)
  const script = new vm.Script(`(function (${PARAMETERS}) {'use strict';${readFileSync(file, 'utf8')}\n})`, {
    filename: file,
    cachedData: codeOf(file),
  })
  load.compiled?.(file, script)
  const folder = path.dirname(file)
  /** @param {string} name */
  const requireFrom = (name) => (name.startsWith('.') ? load(path.join(folder, name)) : require(name))
  script.runInThisContext()(module.exports, requireFrom, module, file, folder)
  return module.exports
}
/** Receives every file that is loaded, for tools/compile.mjs. @type {((file: string, script: vm.Script) => void) | undefined} */
load.compiled = undefined

/** @param {string} name */
exports.load = (name) => load(path.join(__dirname, name))
/** @param {(file: string, script: vm.Script) => void} compiled */
exports.watch = (compiled) => {
  load.compiled = compiled
}
