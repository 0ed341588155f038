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
  fill: 'bench/run/fill.ts',
  generator: 'bench/load/generator.ts',
}
/** Packages that stay in node_modules: native builds, packages that find their own files by path, and packages that few services load. */
const EXTERNAL = [
  /^(better-sqlite3|uWebSockets\.js|uwebsockets-glibc227|@node-rs\/)/,
  /^(undici\/.*|yaml|pg)$/,
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
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  })
)

// The old files are removed: a running service has already loaded all its chunks.
const written = new Set(output.map(({ fileName }) => path.join(outDir, fileName)))
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
writeFileSync(path.join(outDir, 'NOTICES.txt'), [...packages].sort().map(noticeOf).join('\n'))

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  const text = file === undefined ? '' : `\n${readFileSync(path.join(folder, file), 'utf8').trim()}\n`
  return `${name} ${version}, ${license}\n${text}`
}
