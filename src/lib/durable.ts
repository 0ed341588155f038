// Files that must survive a power cut or a full disk: every byte is written, or an error is thrown.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'

/**
 * Writes every byte, and counts in `done` how many are written. A full disk takes a part of a write without an error, and
 * fails the next one: this throws the error of that one.
 */
export function writeAll(fd: number, data: string | Buffer, done = { bytes: 0 }): void {
  const bytes = Buffer.from(data as string)
  while (done.bytes < bytes.length) done.bytes += writeSync(fd, bytes, done.bytes)
}

/** Makes the names of the files in a folder survive a power cut. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Writes a file that only its owner may read. It is there whole or not at all, also after a power cut. */
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
