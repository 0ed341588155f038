// The loader of the bundle, and the code that the build has compiled for it.
import { execFileSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot, programFile } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'

/** Runs a script in a process of its own, whose flags are those of a start. */
const printed = (script: string) => execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }).trim()

test('the build has compiled every file that a start loads, and this version of Node accepts the code', () => {
  const lines = printed(`
    const rejected = []
    require(${JSON.stringify(programFile('loader'))}).watch((_, script) => rejected.push(script.cachedDataRejected))
    process.argv.splice(1, 1, 'service', 'version')
    process.on('exit', () => console.log(JSON.stringify([...new Set(rejected)])))
    require(${JSON.stringify(programFile('service'))})`)
  expect(lines.split('\n').at(-1)).toBe('[false]')
})

test('a file is run once and in strict mode, and code of another version is ignored', () => {
  const folder = tempFolder()
  copyFileSync(path.join(packageRoot, 'tools/loader.cjs'), path.join(folder, 'loader.js'))
  writeFileSync(path.join(folder, 'a.js'), "exports.b = require('./b.js'); exports.again = require('./b.js')")
  writeFileSync(
    path.join(folder, 'b.js'),
    "exports.place = [this === undefined, __filename, typeof require('node:fs').statSync]",
  )
  writeFileSync(path.join(folder, 'b.js.code'), 'not the code of V8')
  const answer = printed(`
    const { b, again } = require(${JSON.stringify(path.join(folder, 'loader.js'))}).load('a.js')
    console.log(JSON.stringify([b === again, ...b.place]))`)
  expect(JSON.parse(answer)).toEqual([true, true, path.join(folder, 'b.js'), 'function'])
})
