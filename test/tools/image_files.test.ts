// What the Dockerfile copies is all that a build takes. The image itself is built on request (image.test.ts).
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'

test('a folder with only the files that the Dockerfile copies can be built, and the program runs', () => {
  const root = tempFolder()
  const dockerfile = readFileSync(path.join(packageRoot, 'Dockerfile'), 'utf8')
  const names = [...dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '))
  // Outputs are not copied (.dockerignore).
  const filter = (file: string) => !/\/(dist|node_modules)$/.test(file)
  for (const name of names) cpSync(path.join(packageRoot, name), path.join(root, name), { recursive: true, filter })
  symlinkSync(path.join(packageRoot, 'node_modules'), path.join(root, 'node_modules'))
  const run = (...args: string[]) =>
    execFileSync('node', args, { cwd: root, env: { ...process.env, BUILD_COMMIT: 'of-the-test' }, encoding: 'utf8' })
  // Only the build: an installation would replace the packages of this checkout.
  run('--input-type=module', '-e', "import { build } from './tools/prepare.mjs'; build()")
  expect(run('dist/bin/service.js', 'version')).toContain('commit=of-the-test')
}, 300_000)
