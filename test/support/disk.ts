// A small disk that a test can fill. It needs root on Linux, to mount it.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, assert } from 'vitest'
import { tempFolder } from './folder.ts'

/** Mounts a disk with this number of megabytes until the tests of the file have ended. Returns its folder; undefined if this process may not mount it. */
export function smallDisk(megabytes: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const folder = tempFolder()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]).status !== 0) return undefined
  afterAll(() => void execFileSync('umount', ['-l', folder]))
  return folder
}

/** The description of the disk in the title of a test. */
export const diskNote = (disk: string | undefined): string =>
  disk ? 'on a tmpfs' : 'not tested: mounting a tmpfs needs root on Linux'

/** Fills the disk. */
export function fill(file: string): void {
  const chunk = Buffer.alloc(64 * 1024)
  try {
    for (;;) writeFileSync(file, chunk, { flag: 'a' })
  } catch (error) {
    assert((error as NodeJS.ErrnoException).code === 'ENOSPC')
  }
}
