// The fast lane stores its temporary files in memory if there is room: it creates hundreds of databases, and their `fsync` is what
// most tests would wait for. The slow lane tests on a disk what must survive a crash.
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
const ROOM_BYTES = 2 * 1024 ** 3

/** A global set-up of vitest; test processes that start after it have the folder in TMPDIR. */
export default function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] || !hasRoom()) return undefined
  const folder = mkdtempSync(`${MEMORY}/service-tests-`)
  // PostgreSQL runs as another user, which must be able to read the folder.
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
