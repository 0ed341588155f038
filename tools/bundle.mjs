// Bundles what ships into dist/bin: the binary, its threads and the processes of its benchmark, with the packages that are plain
// JavaScript. A process that reads 30 files instead of 450 starts in two thirds of the time and uses 15 MiB less memory (docs/decisions/0016).
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'vite'
import { root } from './prepare.mjs'

const outDir = path.join(root, 'dist/bin')
const INPUT = {
  service: 'src/main.ts',
  store: 'workers/store.ts',
  crypto: 'workers/crypto.ts',
  password: 'workers/password.ts',
  front: 'workers/front.ts',
  integrity: 'workers/integrity.ts',
  worker: 'node_modules/piscina/dist/worker.js',
  fill: 'bench/run/fill.ts',
  generator: 'bench/load/generator.ts',
}
/** Packages that stay in node_modules: native builds, packages that find their own files by path, and packages that few services load. */
const EXTERNAL = [
  /^(better-sqlite3|uWebSockets\.js|uwebsockets-glibc227|@node-rs\/|@napi-rs\/)/,
  /^(undici\/.*|yaml|pg)$/,
  /^@modelcontextprotocol\//,
  /^@opentelemetry\/(?!api$)/,
]

const { output } = /** @type {import('vite').Rolldown.RolldownOutput} */ (
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      copyPublicDir: false,
      target: 'es2023',
      minify: false,
      sourcemap: true,
      rolldownOptions: {
        input: INPUT,
        external: EXTERNAL,
        output: {
          // Node loads CommonJS faster, and only its code can be compiled at the build.
          format: 'cjs',
          // Node 20 refuses an import() of code that was compiled before.
          dynamicImportInCjs: false,
          entryFileNames: 'chunks/[name]-[hash].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
          // The licence texts are in NOTICES.txt. The rest would only take memory.
          comments: false,
        },
      },
    },
  })
)

/** @param {string} name @param {string} content */
const write = (name, content) => writeFileSync(path.join(outDir, name), content)
const entries = output.flatMap((file) => (file.type === 'chunk' && file.isEntry ? file : []))
/** Piscina looks for the program of its threads beside its own code, and takes a function from the exports of ours. @param {string} name */
const place = (name) => (name === 'worker' ? 'chunks/worker.js' : `${name}.js`)
for (const { name, fileName } of entries)
  write(
    place(name),
    `#!/usr/bin/env node\nmodule.exports = require('${name === 'worker' ? '../' : './'}loader.js').load('${fileName}')\n`,
  )
write('loader.js', readFileSync(path.join(root, 'tools/loader.cjs'), 'utf8'))
write('package.json', '{ "type": "commonjs" }\n')

// The old files are removed: a running service has loaded all its chunks, except for those of the admin API.
const ours = [...entries.map(({ name }) => place(name)), 'loader.js', 'package.json']
const written = new Set([...output.map(({ fileName }) => fileName), ...ours].map((name) => path.join(outDir, name)))
for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name)
  if (entry.isFile() && !written.has(file)) rmSync(file)
}

/** The licence texts of the bundled packages, which the licences require beside the code. */
const packages = new Set(
  output.flatMap((file) =>
    file.type === 'chunk'
      ? file.moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
      : [],
  ),
)
write('NOTICES.txt', [...packages].sort().map(noticeOf).join('\n'))

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  const text = file === undefined ? '' : `\n${readFileSync(path.join(folder, file), 'utf8').trim()}\n`
  return `${name} ${version}, ${license}\n${text}`
}
