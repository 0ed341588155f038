// Files that must survive a power failure or a full disk: every byte is written, or an error is thrown.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'

/**
 * Writes every byte, and counts the written bytes in `done`. On a full disk a write may succeed partly without an error, and the
 * next write fails: this function throws the error of that write.
 */
export function writeAll(fd: number, data: string | Buffer, done = { bytes: 0 }): void {
  const bytes = Buffer.from(data as string)
  while (done.bytes < bytes.length) done.bytes += writeSync(fd, bytes, done.bytes)
}

/** Flushes a folder to the disk, so that the names of its files survive a power failure. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Writes a file atomically, also in case of a power failure. Only its owner may read it. */
export function replaceFile(file: string, data: string | Buffer): void {
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    const fd = openSync(temporary, 'wx', 0o600)
    try {
      writeAll(fd, data)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(path.dirname(file))
}
