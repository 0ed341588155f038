// The Node that runs the peer. On another version than the peer supports, npm downloads one.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { peerNode } from '../../bench/peers/peer_node.ts'
import { packageRoot } from '../../src/lib/paths.ts'

test('oidc-provider supports the Node that runs it, and the report names that version', () => {
  const { program, version } = peerNode()
  const run = (code: string) => spawnSync(program, ['-e', code], { encoding: 'utf8', cwd: packageRoot })
  expect(run('console.log(process.versions.node)').stdout.trim()).toBe(version)
  // It says so on standard error when it is loaded.
  expect(run("import('oidc-provider')")).toMatchObject({ status: 0, stderr: '' })
}, 300_000)
