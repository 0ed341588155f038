// The Node that runs the peer. oidc-provider supports LTS releases from Node 22 on; the benchmark itself also runs on Node 20.
import { spawnSync } from 'node:child_process'

/** The version for a benchmark on another Node than the peer supports. */
const VERSION = '24.21.0'
const FIRST_SUPPORTED = 22
const DOWNLOAD_MS = 300_000

export interface PeerNode {
  /** The program. */
  program: string
  version: string
}

/** This Node if the peer supports it. Otherwise a binary of the registry's package `node`, which npm downloads once; if it cannot, this Node. */
export function peerNode(): PeerNode {
  const own = { program: process.execPath, version: process.versions.node }
  if (Number.parseInt(own.version, 10) >= FIRST_SUPPORTED && process.release.lts !== undefined) return own
  const args = ['exec', '--yes', `--package=node@${VERSION}`, '--', 'node', '-p', 'process.execPath']
  const { status, stdout } = spawnSync('npm', args, { encoding: 'utf8', timeout: DOWNLOAD_MS })
  return status === 0 ? { program: stdout.trim(), version: VERSION } : own
}
