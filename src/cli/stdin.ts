// What commands read beside their flags: items and secrets, from standard input or from files.
import { closeSync, openSync, readSync } from 'node:fs'
import { UsageError } from './output.ts'

const MAX_BYTES = 1024 * 1024

async function readText(): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new UsageError(`standard input holds more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The JSON object on standard input. Throws UsageError for anything else, and beyond 1 MiB. */
export const readItem = async (): Promise<Record<string, unknown>> => objectIn(await readText(), 'standard input')

/** The JSON object in a file. Throws UsageError for anything else, and beyond 1 MiB. */
export function readItemFile(file: string): Record<string, unknown> {
  return objectIn(readTextFile(file), file)
}

function objectIn(text: string, where: string): Record<string, unknown> {
  let item: unknown
  try {
    item = JSON.parse(text)
  } catch {}
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new UsageError(`${where} must hold a JSON object`)
  return item as Record<string, unknown>
}

const withoutNewline = (text: string) => text.replace(/\r?\n$/, '')

/** The secret on standard input, without the newline at its end. */
export const readSecret = async (): Promise<string> => withoutNewline(await readText())

/** The secret in a file, without the newline at its end. Throws UsageError when it cannot be read. */
export const readSecretFile = (file: string): string => withoutNewline(readTextFile(file))

/** The text of a file; `-` is standard input. Throws UsageError when it cannot be read, or holds more: a device never ends. */
export function readTextFile(file: string, maxBytes = MAX_BYTES): string {
  let text: Buffer
  try {
    const descriptor = file === '-' ? 0 : openSync(file, 'r')
    try {
      text = readUpTo(descriptor, maxBytes + 1)
    } finally {
      if (descriptor > 0) closeSync(descriptor)
    }
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`)
  }
  if (text.length > maxBytes) throw new UsageError(`${file} holds more than ${maxBytes} bytes`)
  return text.toString('utf8')
}

const PIECE_BYTES = 64 * 1024

function readUpTo(descriptor: number, bytes: number): Buffer {
  const pieces: Buffer[] = []
  for (let left = bytes; left > 0; ) {
    const piece = Buffer.allocUnsafe(Math.min(left, PIECE_BYTES))
    const read = readSync(descriptor, piece)
    if (read === 0) break
    pieces.push(piece.subarray(0, read))
    left -= read
  }
  return Buffer.concat(pieces)
}
