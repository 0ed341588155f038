// Prints every five seconds how many packages are installed. It is a separate thread, because the main thread waits for npm.
import { existsSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { workerData } from 'node:worker_threads'

const EVERY_MS = 5000
/** @type {string} */
const root = workerData
const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
const total = Object.keys(packages).filter((name) => name !== '').length
const startedMs = Date.now()

/** @param {string} folder @returns {string[]} */
const entries = (folder) => (existsSync(folder) ? readdirSync(folder) : [])

function installed() {
  const folder = path.join(root, 'node_modules')
  const names = entries(folder).filter((name) => !name.startsWith('.'))
  return names.flatMap((name) => (name.startsWith('@') ? entries(path.join(folder, name)) : [name])).length
}

let before = 0
setInterval(() => {
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  const count = installed()
  // Packages for other platforms are not installed, so the count ends below the total.
  const doing =
    count > 0 && count === before
      ? `running install scripts. SQLite is compiled if its build cannot be downloaded, which takes minutes: ${seconds} s`
      : `installing packages: ${count} of about ${total} after ${seconds} s`
  writeSync(2, `service: ${doing}\n`)
  before = count
}, EVERY_MS)
