// Builds the admin page from ui to dist/ui, with hashed names, and with a compressed copy of every file (.br and .gz); and the script of the
// pages for users to dist/script.js.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { root } from './prepare.mjs'

const outDir = path.join(root, 'dist/ui')
await build({
  root: path.join(root, 'ui'),
  configFile: false,
  logLevel: 'warn',
  base: '/admin/ui/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy of the page allows only its own files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const file = path.join(entry.parentPath, entry.name)
  const bytes = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
}

await build({
  root: path.join(root, 'ui'),
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: path.join(root, 'dist'),
    emptyOutDir: false,
    copyPublicDir: false,
    target: 'es2022',
    lib: { entry: 'script.ts', formats: ['iife'], name: 'script', fileName: () => 'script.js' },
  },
})
