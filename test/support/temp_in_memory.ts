// The fast lane keeps its temporary files in memory where there is room: hundreds of databases are made, and their `fsync` is what
// most tests would wait for. What is to survive a crash is tested in the slow lane, on a disk.
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3

/** A global set-up of vitest; test processes that start after it have the folder in TMPDIR. */
export default function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] || !hasRoom()) return undefined
  const folder = mkdtempSync(`${MEMORY}/service-tests-`)
  // PostgreSQL runs as another user, and must reach what is inside.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  return () => {
    delete process.env['TMPDIR']
    rmSync(folder, { recursive: true, force: true })
  }
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM_BYTES
  } catch {
    return false
  }
}
