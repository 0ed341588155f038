// Prepares the checkout, then runs a file of it in this process, so that signals and the exit code are the file's own:
// node tools/run.mjs dist/bin/service.js serve --config service.yaml
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepare, root } from './prepare.mjs'

const [file = '', ...args] = process.argv.slice(2)
prepare()
const full = path.join(root, file)
process.argv = [process.execPath, full, ...args]
await import(pathToFileURL(full).href)
