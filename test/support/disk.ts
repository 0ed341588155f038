// A small disk that a test can fill, where this process may mount one: root on Linux.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, assert } from 'vitest'
import { tempFolder } from './folder.ts'

/** Mounts a disk of so many megabytes until the tests of the file have ended. Returns its folder; undefined where this process may not. */
export function smallDisk(megabytes: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const folder = tempFolder()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]).status !== 0) return undefined
  afterAll(() => void execFileSync('umount', ['-l', folder]))
  return folder
}

/** What the title of a test says of the disk. */
export const diskNote = (disk: string | undefined): string =>
  disk ? 'on a tmpfs' : 'not tested: mounting a tmpfs needs root on Linux'

/** Takes all that is left of the disk. */
export function fill(file: string): void {
  const chunk = Buffer.alloc(64 * 1024)
  try {
    for (;;) writeFileSync(file, chunk, { flag: 'a' })
  } catch (error) {
    assert((error as NodeJS.ErrnoException).code === 'ENOSPC')
  }
}
