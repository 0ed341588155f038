import { expect, test } from 'vitest'
import { type Lock, type Manifest, supplyFaults } from '../../tools/supply.ts'

const MANIFEST: Manifest = {
  dependencies: { a: '1.2.3' },
  optionalDependencies: { b: 'npm:@x/b@1.0.0-beta.1' },
  devDependencies: {},
  allowScripts: {},
}
const REASONS = '| `a` | for | | `b` | for |'
const GOOD = { integrity: 'sha512-AAAA', license: 'MIT' }
const faults = (lock: Lock, manifest: Partial<Manifest> = {}, reasons = REASONS) =>
  supplyFaults({ ...MANIFEST, ...manifest }, lock, reasons)

test('packages with an exact version, a hash, an allowed licence and a reason are accepted', () => {
  expect(faults({ '': {}, 'node_modules/a': GOOD, 'node_modules/a/node_modules/b': GOOD })).toEqual([])
})

test.each(['^1.2.3', '~1.2.3', '*', 'latest', '1.x', 'npm:c@^1.0.0', 'github:x/y', 'https://x.example/a.tgz'])(
  'a version %s is refused',
  (version) => expect(faults({}, { dependencies: { a: version } })).toEqual([`a: ${version} is not exact`]),
)

test('a package without a reason is refused', () => {
  expect(faults({}, {}, '`a`')).toEqual(['b: no reason in docs/dependencies.md'])
})

test.each<[string, Lock[string], string]>([
  ['without a hash', { license: 'MIT' }, 'no SHA-512'],
  ['with a hash of SHA-1', { ...GOOD, integrity: 'sha1-AAAA' }, 'no SHA-512'],
  ['without a licence', { integrity: GOOD.integrity }, 'licence none'],
  ['of a licence that is not on the list', { ...GOOD, license: 'AGPL-3.0' }, 'licence AGPL-3.0'],
  ['that is shipped, under the licence of a tool', { ...GOOD, license: 'MPL-2.0' }, 'licence MPL-2.0'],
  ['with an install script without a decision', { ...GOOD, hasInstallScript: true }, 'install script'],
])('a package %s is refused', (_what, entry, fault) => {
  expect(faults({ 'node_modules/x': entry })).toEqual([expect.stringContaining(fault)])
})

test('builds of tools for other platforms may lack data that their registry did not provide', () => {
  expect(faults({ 'node_modules/x': { dev: true, optional: true } })).toEqual([])
  expect(faults({ 'node_modules/x': { optional: true } }).length).toBe(2)
})
